"""A scoreboard: loads that an instruction must wait for, by the registers that a trace names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpusim.core.warp_program import Asked, Op
from gpusim.traces.arithmetic import ArithmeticPipeline, unit_number
from gpusim.traces.sass import MEMORY_OPCODES, REGISTER_BYTES, Space
from gpusim.traces.warps import WarpTrace

ZERO_REGISTER = 255
"""R255 reads as 0 and is never written."""


class Scoreboard:
    """Registers of one warp whose load has not been waited for.

    A trace names the first register of each operand; a wide load fills those that follow too.
    Predicates and uniform registers are not followed.

    Args:
        trace: of the warp; gets the waits.
        asked: by the machine.
    """

    def __init__(self, trace: WarpTrace, asked: Asked) -> None:
        self._trace = trace
        self._follows_shared = Op.SHARED_LOAD in asked
        self._arithmetic = ArithmeticPipeline(asked) if Op.DELAY in asked else None
        self._pending: dict[int, int] = {}
        self._uncommitted = -1
        self._groups: list[int] = []
        self._bulk = -1

    def touch(self, registers: Iterable[int]) -> None:
        """An instruction reads or overwrites these: wait for exactly the loads that fill them."""
        if self._pending:
            self._wait(max((self._pending.get(register, -1) for register in registers), default=-1))

    def compute(self, base: str, registers: Sequence[int], destinations: Iterable[int]) -> None:
        """Arithmetic: one instruction, with what it reads or writes, and what it writes."""
        self._trace.add(Op.COMPUTE, 1)
        if self._arithmetic is not None:
            self._arithmetic.issue(unit_number(base), registers, destinations)

    def settle(self, registers: Iterable[int]) -> None:
        """Something else than arithmetic is about to issue that names these registers."""
        if self._arithmetic is not None:
            self._arithmetic.settle(self._trace, registers)

    def access(self, base: str, space: Space, registers: Iterable[int], size: int) -> None:
        """The memory instruction just recorded: what loads from global or local memory is pending.

        Args:
            base: its opcode, without modifiers.
            space: that it accessed.
            registers: its destinations.
            size: bytes a lane.
        """
        if space == Space.SHARED and not self._follows_shared:
            return
        if MEMORY_OPCODES[base][1] not in {Op.LOAD, Op.ATOMIC}:
            return
        if base == "LDGSTS":
            self.copy()
        else:
            self.load(registers, size)

    def load(self, registers: Iterable[int], size: int) -> None:
        """The load or atomic just recorded fills these and, if it is wide, the next ones."""
        for first in registers:
            if first != ZERO_REGISTER:
                for register in range(first, first + max(size // REGISTER_BYTES, 1)):
                    self._pending[register] = self._trace.loads - 1

    def copy(self) -> None:
        """The load just recorded goes to shared memory (LDGSTS), as part of the next group."""
        self._uncommitted = self._trace.loads - 1

    def copy_in_bulk(self) -> None:
        """The load just recorded reports to a barrier in shared memory when it is done."""
        self._bulk = self._trace.loads - 1

    def report_copies(self) -> None:
        """All copies so far (LDGSTS) report to a barrier in shared memory (ARRIVES)."""
        self._bulk = max(self._bulk, self._uncommitted)

    def wait_reports(self) -> None:
        """Wait for all that report to a barrier in shared memory (SYNCS.PHASECHK)."""
        self._wait(self._bulk)
        self._bulk = -1

    def commit(self) -> None:
        """All copies so far that are in no group become one (LDGDEPBAR)."""
        self._groups.append(self._uncommitted)

    def wait_groups(self, youngest: int) -> None:
        """Wait for all groups of copies but the youngest ones (DEPBAR)."""
        if len(self._groups) > youngest:
            self._wait(self._groups[-1 - youngest])
            del self._groups[: len(self._groups) - youngest]

    def _wait(self, needed: int) -> None:
        """Wait for the load of this sequence number and all before it; -1: for none."""
        if needed < 0:
            return
        self.settle(())
        self._trace.add(Op.WAIT, self._trace.loads - 1 - needed)
        self._pending = {
            register: load for register, load in self._pending.items() if load > needed
        }
