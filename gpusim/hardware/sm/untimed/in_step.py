"""Skipped blocks that execute in step: one instruction of all of them, then the next one.

Only the execution is shared, so that numpy works on long arrays.  Each block has its own part of
every piece, and passes it when it has its turn, or is timed from where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpusim.core.pieces import part_of
from gpusim.core.warp_program import LaneChunk, executed_in
from gpusim.hardware.sm.untimed.accesses import Ints, Touched

Toucher = Callable[[LaneChunk, int], Touched]
"""What a number of blocks touches in a piece (`gpusim.hardware.sm.untimed.accesses`)."""


class Part:
    """What one block executes of a piece.

    Args:
        piece: what several blocks execute side by side.
        number: which of them it is.
        count: how many there are.

    Attributes:
        instructions: its warp instructions.
        touched: what they access, as in `Touched`.
        takes: operations that a warp executes meanwhile, on average; the same for all blocks.
    """

    __slots__ = ("_count", "_number", "_piece", "instructions", "takes", "touched")

    def __init__(
        self,
        piece: LaneChunk,
        number: int,
        count: int,
        instructions: int,
        touched: Ints,
        takes: float,
    ) -> None:
        self._piece = piece
        self._number = number
        self._count = count
        self.instructions = instructions
        self.touched = touched
        self.takes = takes

    def chunk(self) -> LaneChunk:
        """This block's part of the piece, as the block alone would have executed it."""
        if self._count == 1:
            return self._piece
        return part_of(self._piece, self._number, self._count)

    def cut_loose(self) -> None:
        """Keep nothing of what the others execute."""
        self._piece, self._number, self._count = self.chunk(), 0, 1
        self.touched = self.touched.copy()


class InStep:
    """Blocks that execute in step.

    Args:
        pieces: what they execute, the warps of one block after those of another.
        count: how many there are.
        touched: returns what a piece accesses.
    """

    def __init__(self, pieces: Iterator[LaneChunk], count: int, touched: Toucher) -> None:
        self._pieces = pieces
        self._touched = touched
        self._waiting: list[list[Part]] = [[] for _ in range(count)]

    def parts_of(self, number: int) -> Parts:
        """What one of them executes."""
        return Parts(self, self._waiting[number])

    def go_on(self, keep: bool) -> bool:
        """Execute a piece, of which each block gets a part, perhaps of nothing.

        Args:
            keep: parts may wait for long, and should be small.

        Returns:
            whether there was one.
        """
        piece = next(self._pieces, None)
        if piece is None:
            return False
        count = len(self._waiting)
        counts, takes = executed_in(piece, count)
        touched = self._touched(piece, count)
        for number, waiting in enumerate(self._waiting):
            part = Part(piece, number, count, counts[number], touched.of(number), takes)
            if keep:
                part.cut_loose()
            waiting.append(part)
        return True


class Parts(Iterator[LaneChunk]):
    """What one block of several in step executes.

    Args:
        together: they.
        waiting: what has been executed, and not taken.
    """

    def __init__(self, together: InStep, waiting: list[Part]) -> None:
        self._together = together
        self._waiting = waiting

    def take(self, keep: bool = False) -> Part | None:
        """The next part; None at the end.  `keep` is as for `InStep.go_on`."""
        if not self._waiting and not self._together.go_on(keep):
            return None
        return self._waiting.pop(0)

    def __iter__(self) -> Parts:
        return self

    def __next__(self) -> LaneChunk:
        part = self.take(keep=True)
        if part is None:
            raise StopIteration
        return part.chunk()


def next_part(chunks: Iterator[LaneChunk], touched: Toucher) -> Part | None:
    """What a block executes next, in step with others or alone; None at its end."""
    if isinstance(chunks, Parts):
        return chunks.take()
    chunk = next(chunks, None)
    if chunk is None:
        return None
    (count,), takes = executed_in(chunk, 1)
    return Part(chunk, 0, 1, count, touched(chunk, 1).touches, takes)
