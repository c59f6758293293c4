"""Arithmetic between two accesses: how many instructions, and what they cost beside their issue."""

from __future__ import annotations

from gpusim.core.warp_program import ARITHMETIC_OPS, Asked, Op
from gpusim.ptx.classes import count_of, unit_of
from gpusim.ptx.frame import Frame
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.uses import read, written
from gpusim.traces.arithmetic import ArithmeticPipeline
from gpusim.traces.warps import WarpTrace


class Segment:
    """Instructions of a basic block that access no memory, one after the other.

    Args:
        numbers: of registers, by their names.
    """

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self.instructions: list[Instruction] = []
        self.next: Instruction | None = None
        self._asked: Asked | None = None
        self._rows: list[tuple[int, int]] = []

    @property
    def count(self) -> int:
        """Instructions that they count as."""
        return sum(map(count_of, self.instructions))

    def record(self, frame: Frame) -> None:
        """Record them for the warps of a frame."""
        recorder = frame.batch.record
        if recorder is None:
            return
        if recorder.asked is not self._asked:
            self._asked = recorder.asked
            self._rows = self._cost(recorder.asked)
        for op, argument in self._rows:
            recorder.plain(op, argument, frame.warps)

    def _cost(self, asked: Asked) -> list[tuple[int, int]]:
        """Operations and their arguments, as an SM with these latencies has them.

        What a segment leaves unfinished for the next block is not followed.
        """
        rows: list[tuple[int, int]] = [(int(Op.COMPUTE), self.count)] if self.count else []
        if not asked.kinds.issuperset(ARITHMETIC_OPS):
            return rows
        pipeline = ArithmeticPipeline(asked)
        for one in self.instructions:
            if count_of(one):
                unit = unit_of(one)
                number = -1 if unit is None else int(unit)
                pipeline.issue(number, self._ids(read(one)), self._ids(written(one)))
        trace = WarpTrace()
        pipeline.settle(trace, self._ids(read(self.next)) if self.next is not None else ())
        return rows + [(int(op), argument) for op, argument in trace.tail]

    def _ids(self, names: object) -> tuple[int, ...]:
        assert hasattr(names, "__iter__")
        return tuple(self._numbers[name] for name in names if name in self._numbers)
