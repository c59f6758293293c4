"""What policies of a machine may listen to, and ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from gpusim.core.engine import Environment, Probe
from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.core.signals import OWN_SIDE, SignalBoard

if TYPE_CHECKING:
    from gpusim.machine.machine import Machine


def make_boards(machine: Machine) -> tuple[SignalBoard, SignalBoard]:
    """All probes of a machine that is built, by name: of the SMs' side, and of the memory side.

    That is one board, unless the two sides have loops of their own.
    """
    board = board_of_memory = _board(machine, machine.env)
    if machine.joined is not None:
        board_of_memory = _board(machine, machine.memory_env)
        board.part_from(board_of_memory)
        board.find, board.mappings = _not_looked_up, _not_looked_up
    table = machine.page_table
    for name, tells in (("page.map", table.on_map), ("page.unmap", table.on_unmap)):
        probe: Probe[[Mapping]] = Probe()
        tells.append(probe)
        board_of_memory.offer(name, probe)
    if machine.node is not None:
        machine.node.name_tables(board)
    machine.translation.offer(board)
    for system in machine.systems:
        system.offer(board_of_memory)
    for sm, l1 in zip(machine.sms, machine.l1s, strict=True):
        sm.offer(board)
        l1.signals.offer(board, "l1", [sm.index])
    return board, board_of_memory


def _board(machine: Machine, env: Environment) -> SignalBoard:
    """A board without signals."""
    table = machine.page_table
    board = SignalBoard(env, len(machine.tenants), table.find)
    board.arrays, board.mappings = table.arrays, table.pages_of
    return board


def _not_looked_up(_: int) -> NoReturn:
    """The SMs' side asks about a page, or all of an address space."""
    raise UserError(f"{OWN_SIDE}, and the page table is on that of memory")


def attach_policies(machine: Machine, board: SignalBoard, board_of_memory: SignalBoard) -> None:
    """Hand every policy of a machine the signals that it may listen to."""
    everywhere = range(machine.config.sms)
    machine.translation.attach(board)
    for frames in machine.frames:
        frames.attach(board_of_memory.at(everywhere))
    for layout in machine.layouts:
        layout.attach(board_of_memory.at(everywhere))
    for system in machine.systems:
        system.attach(board_of_memory)
    for sm, l1 in zip(machine.sms, machine.l1s, strict=True):
        l1.attach(board.at([sm.index]))
        for port in sm.issue_ports:
            port.scheduler.attach(board.at([sm.index]))
    for unit in machine.speculations:
        unit.policy.attach(board.at([unit.instance]))
    for side in machine.sides:
        side.attach(board)
    if machine.paging is not None:
        machine.paging.attach(board)
    if machine.node is not None:
        machine.node.attach(board)
