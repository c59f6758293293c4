"""A scoreboard: loads that an instruction must wait for, by the registers that a trace names."""

from __future__ import annotations

from typing import Final, TypeAlias

from gpusim.core.warp_program import Asked, Op
from gpusim.traces.arithmetic import ArithmeticPipeline
from gpusim.traces.sass import MEMORY_OPCODES, REGISTER_BYTES, Space
from gpusim.traces.warps import WarpTrace

ZERO_REGISTER = 255
"""R255 reads as 0 and is never written."""

Registers: TypeAlias = tuple[int, ...]
"""Numbers of registers."""

_FILLS: Final = {base: op in {Op.LOAD, Op.ATOMIC} for base, (_, op) in MEMORY_OPCODES.items()}
"""By base opcode of a memory instruction, whether registers wait for it."""

_COMPUTE: Final = int(Op.COMPUTE)
_WAIT: Final = int(Op.WAIT)


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
        self._filled_by: list[int] = []
        """By register, the load that fills it."""
        self._latest = -1
        """The latest load that fills a register."""
        self._waited = -1
        """The latest load that was waited for, as all before it."""
        self._uncommitted = -1
        self._groups: list[int] = []
        self._bulk = -1

    def touch(self, registers: Registers) -> None:
        """An instruction reads or overwrites these: wait for exactly the loads that fill them."""
        if self._latest > self._waited:
            needed, filled_by = -1, self._filled_by
            for register in registers:
                if register < len(filled_by) and filled_by[register] > needed:
                    needed = filled_by[register]
            if needed > self._waited:
                self._wait(needed)

    def compute(self, unit: int, registers: Registers, destinations: Registers) -> None:
        """Arithmetic: one instruction, with what it reads or writes, and what it writes.

        The number of the `Unit` that executes it is -1 if none does.
        """
        self._trace.add(_COMPUTE, 1)
        if self._arithmetic is not None:
            self._arithmetic.issue(unit, registers, destinations)

    def settle(self, registers: Registers) -> None:
        """Something else than arithmetic is about to issue that names these registers."""
        if self._arithmetic is not None:
            self._arithmetic.settle(self._trace, registers)

    def access(self, base: str, space: Space, registers: Registers, size: int) -> None:
        """The memory instruction just recorded: what loads from global or local memory is pending.

        Args:
            base: its opcode, without modifiers.
            space: that it accessed.
            registers: its destinations.
            size: bytes a lane.
        """
        if not _FILLS[base] or (space is Space.SHARED and not self._follows_shared):
            return
        if base == "LDGSTS":
            self.copy()
        else:
            self.load(registers, size)

    def load(self, registers: Registers, size: int) -> None:
        """The load or atomic just recorded fills these and, if it is wide, the next ones."""
        for first in registers:
            if first != ZERO_REGISTER:
                self._latest = self._trace.loads - 1
                last = first + max(size // REGISTER_BYTES, 1)
                missing = last - len(self._filled_by)
                if missing > 0:
                    self._filled_by += [-1] * missing
                for register in range(first, last):
                    self._filled_by[register] = self._latest

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
        self._trace.add(_WAIT, self._trace.loads - 1 - needed)
        self._waited = max(self._waited, needed)
