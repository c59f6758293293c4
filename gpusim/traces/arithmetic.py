"""What a warp's arithmetic costs beside issue cycles, by the units that execute it."""

from __future__ import annotations

from typing import Final

from gpusim.core.warp_program import Asked, Op, Unit
from gpusim.traces.warps import WarpTrace

_UNITS: dict[Unit, str] = {
    Unit.FP32: "FADD FADD32I FCHK FFMA FFMA32I FMNMX FMUL FMUL32I FSEL FSET FSETP FSWZADD "
    "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 IMAD IMADSP IMUL",
    Unit.FP64: "DADD DFMA DMNMX DMUL DSET DSETP",
    Unit.SPECIAL: "BREV F2F F2FP F2I F2IP FLO FRND I2F I2FP I2I I2IP MUFU POPC",
    Unit.TENSOR: "BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA",
}
"""Base opcodes of units, integers those of all others; products of integers go with FP32, as on
Volta and later."""

_UNITS_OP: Final = int(Op.UNITS)
_DELAY_OP: Final = int(Op.DELAY)

_CONTROL = (
    "BMOV BPT BRA BREAK BRX BSSY BSYNC CALL DEPBAR ERRBAR EXIT JMP JMX KILL LDGDEPBAR MEMBAR "
    "NANOSLEEP NOP RET WARPSYNC YIELD"
)
_NO_UNIT = frozenset(_CONTROL.split())
"""Base opcodes of control, which take their issue cycle alone; so do those of uniform registers."""

UNIT_OF = {name: unit for unit, names in _UNITS.items() for name in names.split()}

_ISSUED_BY: dict[str, int] = dict.fromkeys(_NO_UNIT, -1)
"""By base opcode, the number of its unit; -1: it has none.  Grows by what traces name."""

_MOST_OPCODES = 4096


def unit_of(base: str) -> Unit | None:
    """The unit of a warp's scheduler that executes an instruction of this base opcode, if any."""
    if base in _NO_UNIT or base.startswith("U"):
        return None
    return UNIT_OF.get(base, Unit.INTEGER)


def unit_number(base: str) -> int:
    """The number of that `Unit`; -1: there is none."""
    number = _ISSUED_BY.get(base)
    if number is None:
        unit = unit_of(base)
        number = -1 if unit is None else int(unit)
        if len(_ISSUED_BY) < _MOST_OPCODES:
            _ISSUED_BY[base] = number
    return number


class ArithmeticPipeline:
    """Arithmetic of one warp, in order, as it would issue alone on its scheduler.

    An instruction issues a cycle after the one before, when the registers that it names are there,
    and when its unit is free.  `settle` tells the program what that costs beside issue cycles.

    Args:
        asked: latencies and intervals by unit.
    """

    def __init__(self, asked: Asked) -> None:
        self._latency = list(asked.latency)
        self._interval = list(asked.interval)
        self._begin = 0
        """When the program was last told what arithmetic costs."""
        self._now = 0
        self._issued = 0
        """Instructions since then."""
        self._ready: list[int] = []
        """By register, when its value is there."""
        self._free = [0] * len(asked.interval)
        self._busy = [0] * len(asked.interval)

    def issue(self, unit: int, registers: tuple[int, ...], destinations: tuple[int, ...]) -> None:
        """An instruction that reads or writes `registers` and writes `destinations`.

        The number of the `Unit` that executes it is -1 if none does.
        """
        at = self._when(registers)
        self._issued += 1
        if unit < 0:
            self._now = at + 1
            return
        if self._free[unit] > at:
            at = self._free[unit]
        self._now = at + 1
        interval = self._interval[unit]
        self._free[unit] = at + interval
        self._busy[unit] += interval
        there = at + self._latency[unit]
        ready = self._ready
        for register in destinations:
            if register >= len(ready):
                ready += [0] * (register + 1 - len(ready))
            ready[register] = there

    def settle(self, trace: WarpTrace, registers: tuple[int, ...]) -> None:
        """Another instruction comes that needs `registers`: add what it waits for to a program."""
        now = self._when(registers)
        units = 0
        for unit, busy in enumerate(self._busy):
            units = max(units, busy - self._issued)
            self._busy[unit] = 0
        delay = now - self._begin - self._issued - units
        if units:
            trace.add(_UNITS_OP, units)
        if delay > 0:
            trace.add(_DELAY_OP, delay)
        self._begin = self._now = now
        self._issued = 0

    def _when(self, registers: tuple[int, ...]) -> int:
        """The first cycle in which an instruction that names these can issue."""
        ready, first = self._ready, self._now
        for register in registers:
            if register < len(ready) and ready[register] > first:
                first = ready[register]
        return first
