"""What policies of a machine may listen to, and ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.core.engine import Probe
from gpusim.core.mapping import Mapping
from gpusim.core.signals import SignalBoard

if TYPE_CHECKING:
    from gpusim.machine.machine import Machine


def make_board(machine: Machine) -> SignalBoard:
    """All probes of a machine that is built, by name."""
    table = machine.page_table
    board = SignalBoard(machine.env, len(machine.tenants), table.find)
    board.arrays, board.mappings = table.arrays, table.pages_of
    for name, tells in (("page.map", table.on_map), ("page.unmap", table.on_unmap)):
        probe: Probe[[Mapping]] = Probe()
        tells.append(probe)
        board.offer(name, probe)
    if machine.node is not None:
        machine.node.name_tables(board)
    machine.translation.offer(board)
    for system in machine.systems:
        system.offer(board)
    for sm, l1 in zip(machine.sms, machine.l1s, strict=True):
        sm.offer(board)
        l1.signals.offer(board, "l1", [sm.index])
    return board


def attach_policies(machine: Machine, board: SignalBoard) -> None:
    """Hand every policy of a machine the signals that it may listen to."""
    everywhere = range(machine.config.sms)
    machine.translation.attach(board)
    for frames in machine.frames:
        frames.attach(board.at(everywhere))
    for layout in machine.layouts:
        layout.attach(board.at(everywhere))
    for system in machine.systems:
        system.attach(board)
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
