"""nw: Needleman-Wunsch alignment of two sequences, tile by tile along anti-diagonals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import strided_passes
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

TILE = 16
PITCH = TILE + 1
"""Words of a row of the scores in shared memory: the tile, and the column left of it."""

Ints = DeviceArray[np.int32]


@frozen
class Step:
    """One anti-diagonal of a tile.

    Attributes:
        active: (16,) bool, threads with a cell.
        passes: of each access to the scores; neighbouring threads are 16 words apart.
        cells: (active,) indices of their scores in shared memory, pitch 17.
        references: (active,) indices of their substitution scores, pitch 16.
    """

    active: NDArray[np.bool_]
    passes: int
    cells: NDArray[np.int64]
    references: NDArray[np.int64]


def _step(number: int) -> Step:
    """Step 0..30: 1, 2, ... 16, 15, ... 1 threads, the first one lowest."""
    count = TILE - abs(number - (TILE - 1))
    lane = np.arange(count)
    column = lane + max(0, number - (TILE - 1))
    row = number - column
    active = np.arange(TILE) < count
    passes = strided_passes(count, TILE)
    return Step(active, passes, PITCH * (row + 1) + column + 1, TILE * row + column)


STEPS = [_step(number) for number in range(2 * TILE - 1)]


@define(kw_only=True, eq=False)
class NeedleTiles(Kernel):
    """One anti-diagonal of tiles: a tile of 16 x 16 cells for a block of 16 threads.

    16 L reference, row by row; the corner of the scores by thread 0; barrier; L the column left of
    the tile, one row a lane; barrier; L the row above it; barrier; 31 steps with a barrier each; 16
    S of the scores.  Each barrier waits for the loads before it, which go to shared memory.  In the
    second kernel the corner comes after the first barrier, together with the column.  The address
    of each row takes three instructions, as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        reference, scores: (n + 1)^2, both.
        pitch: n + 1.
        penalty: of a gap.
        left, bottom: column and row of block 0's tile; the next block's is one up and right.
        corner_first: whether this is the first kernel.
    """

    reference: Ints
    scores: Ints
    pitch: int
    penalty: int
    left: int
    bottom: int
    corner_first: bool
    registers_per_thread: int = 32
    shared_bytes: int = 4 * (PITCH * PITCH + TILE * TILE)

    def body(self, k: BlockTracer) -> Iterator[None]:
        pitch = self.pitch
        corner = TILE * (pitch * (self.bottom - k.bx) + self.left + k.bx)
        inner = corner + pitch + 1 + k.tx
        first = k.tx == 0
        temp = np.empty((PITCH, PITCH), dtype=np.int32)
        k.compute(19 + 3 * TILE)
        loaded = [k.load(self.reference, inner + row * pitch) for row in range(TILE)]
        if self.corner_first:
            temp[0, 0] = k.load(self.scores, k.tx * 0 + corner, first)[0]
        k.wait()
        for _ in range(TILE):
            k.shared(1)
        if self.corner_first:
            k.shared(1, first)
        k.barrier()
        if not self.corner_first:
            temp[0, 0] = k.load(self.scores, k.tx * 0 + corner, first)[0]
        temp[1:, 0] = k.load(self.scores, corner + pitch * (k.tx + 1))
        k.wait()
        if not self.corner_first:
            k.shared(1, first)
        k.shared(1)
        k.barrier()
        temp[0, 1:] = k.load(self.scores, corner + 1 + k.tx)
        k.wait()
        k.shared(1)
        k.barrier()
        yield
        flat, reference = temp.reshape(-1), np.concatenate(loaded)
        for step in STEPS:
            self._advance(k, flat, reference, step)
            yield
        for row in range(TILE):
            k.shared(1)
            k.compute(3)
            k.store(self.scores, inner + row * pitch, temp[row + 1, 1:])

    def _advance(
        self, k: BlockTracer, temp: NDArray[np.int32], reference: NDArray[np.int32], step: Step
    ) -> None:
        """The best of three ways into each cell of an anti-diagonal: 4 LDS, STS, barrier."""
        cells = step.cells
        diagonal = temp[cells - PITCH - 1] + reference[step.references]
        gap = np.maximum(temp[cells - 1], temp[cells - PITCH]) - self.penalty
        temp[cells] = np.maximum(diagonal, gap)
        for passes in (step.passes, 1, step.passes, step.passes):
            k.shared(passes, step.active)
        k.compute(6, step.active)
        k.shared(step.passes, step.active)
        k.barrier()


@frozen
class NwParameters:
    """Parameters of nw.

    Attributes:
        n: letters of each sequence, a multiple of 16 (the suite: 2048).
        penalty: of a gap (the suite: 10).
        diagonals: anti-diagonals of tiles that are aligned, the longest ones; None: all.
    """

    n: int = field(default=2048, validator=[ge(TILE), le(32768)])
    penalty: int = field(default=10, validator=[ge(0), le(1000)])
    diagonals: int | None = field(default=None)

    @n.validator
    def _tiles(self, _: object, n: int) -> None:
        if n % TILE:
            raise ValueError(f"'n' must be a multiple of {TILE}: {n}")

    @diagonals.validator
    def _fits(self, _: object, diagonals: int | None) -> None:
        most = 2 * (self.n // TILE) - 1
        if diagonals is not None and not 1 <= diagonals <= most:
            raise ValueError(f"'diagonals' must be from 1 to {most}: {diagonals}")


@program("nw", NwParameters)
class Nw(Program):
    """The scores of the best alignments of all beginnings of two sequences.

    Arrays in the order reference, scores.  The sequences are random letters out of 10, as in the
    suite; equal ones score 5, others -2 (our choice: the suite takes BLOSUM62, which changes no
    address).
    """

    def __init__(self, parameters: NwParameters, seed: int) -> None:
        super().__init__("nw")
        self.n, self.penalty = n, penalty = parameters.n, parameters.penalty
        self.diagonals = parameters.diagonals or 2 * (n // TILE) - 1
        down, across = np.random.default_rng(seed).integers(1, 11, (2, n))
        reference = np.zeros((n + 1, n + 1), dtype=np.int32)
        reference[1:, 1:] = np.where(down[:, None] == across, 5, -2)
        scores = np.zeros_like(reference)
        scores[0] = scores[:, 0] = -penalty * np.arange(n + 1)
        self.reference = self.memory.allocate("reference", reference)
        self.scores = self.memory.allocate("scores", scores)

    def launches(self) -> Iterator[Launch]:
        width = self.n // TILE
        shortest = width - self.diagonals // 2
        for tiles in range(shortest, width + 1):
            yield self._diagonal("needle_cuda_shared_1", tiles, 0, tiles - 1)
        for tiles in range(width - 1, width - 1 - (self.diagonals - 1) // 2, -1):
            yield self._diagonal("needle_cuda_shared_2", tiles, width - tiles, width - 1)

    def _diagonal(self, name: str, tiles: int, left: int, bottom: int) -> NeedleTiles:
        return NeedleTiles(
            shape=Shape((tiles, 1, 1), (TILE, 1, 1)), name=name, reference=self.reference,
            scores=self.scores, pitch=self.n + 1, penalty=self.penalty, left=left, bottom=bottom,
            corner_first=name.endswith("1"),
        )  # fmt: skip
