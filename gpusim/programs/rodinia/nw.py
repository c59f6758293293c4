"""nw: Needleman-Wunsch alignment of two sequences, tile by tile along anti-diagonals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu


@frozen
class Step:
    """One anti-diagonal of a tile, or of the tiles of blocks in step.

    Attributes:
        active: (threads,) bool, threads with a cell.
        passes: of each access to the scores; neighbouring threads are a tile's side apart.
        cells: (active,) indices of their scores in shared memory, a row's pitch is side + 1.
        references: (active,) indices of their substitution scores, pitch side.
    """

    active: NDArray[np.bool_]
    passes: int
    cells: NDArray[np.int64]
    references: NDArray[np.int64]


def _step(side: int, number: int, blocks: int) -> Step:
    """Step 0..30 of a side of 16: 1, 2, ... 16, 15, ... 1 threads, the first one lowest."""
    count = side - abs(number - (side - 1))
    lane = np.arange(count)
    column = lane + max(0, number - (side - 1))
    row = number - column
    cells = (side + 1) * (row + 1) + column + 1
    tile = np.arange(blocks)[:, None]
    return Step(
        active=np.tile(np.arange(side) < count, blocks),
        passes=gpu.strided_passes(count, side),
        cells=((side + 1) ** 2 * tile + cells).reshape(-1),
        references=(side**2 * tile + side * row + column).reshape(-1),
    )


@lru_cache(maxsize=4)
def _steps(side: int, blocks: int) -> list[Step]:
    return [_step(side, number, blocks) for number in range(2 * side - 1)]


@frozen
class Mix:
    """Instructions of a block that access no memory.

    Attributes:
        start: before the first row.
        row: for the address of a row, when it is loaded and when it is stored.
        step: of an anti-diagonal.
    """

    start: int
    row: int
    step: int


MIXES = {16: Mix(start=19, row=3, step=6), 64: Mix(start=55, row=12, step=21)}
"""By the side of a tile.  16: Rodinia's CUDA, addresses as in PTX of nvcc 11.8 for sm_35.  64: its
OpenCL as MGPUSim has it, 5285 instructions a tile and 14 from row to row in its trace."""


@frozen
class Alignment:
    """The matrices of two sequences.

    Attributes:
        reference, scores: n + 1 rows, both.
        pitch: integers from row to row.
        side: of a tile.
        penalty: of a gap.
    """

    reference: gpu.Ints
    scores: gpu.Ints
    pitch: int
    side: int
    penalty: int

    @property
    def shared_bytes(self) -> int:
        """The scores of a tile with a row and a column beside it, and its substitution scores."""
        return 4 * ((self.side + 1) ** 2 + self.side**2)


def _advance(
    k: gpu.BlockTracer,
    of: Alignment,
    temp: NDArray[np.int32],
    reference: NDArray[np.int32],
    step: Step,
) -> None:
    """The best of three ways into each cell of an anti-diagonal: 4 LDS, STS, barrier."""
    cells, above = step.cells, of.side + 1
    diagonal = temp[cells - above - 1] + reference[step.references]
    gap = np.maximum(temp[cells - 1], temp[cells - above]) - of.penalty
    temp[cells] = np.maximum(diagonal, gap)
    for passes in (step.passes, 1, step.passes, step.passes):
        k.shared(passes, step.active)
    k.compute(MIXES[of.side].step, step.active)
    k.shared(step.passes, step.active)
    k.barrier()


def _tiles(
    k: gpu.BlockTracer, of: Alignment, left: int, bottom: int, corner_first: bool
) -> gpu.Steps:
    """One anti-diagonal of tiles: a tile of 16 x 16 cells for a block of 16 threads, or 64 x 64.

    16 L reference, row by row; the corner of the scores by thread 0; barrier; L the column left of
    the tile, one row a lane; barrier; L the row above it; barrier; 31 steps with a barrier each; 16
    S of the scores.  Each barrier waits for the loads before it, which go to shared memory.  In the
    second kernel the corner comes after the first barrier, together with the column.

    Args:
        k: the blocks.
        of: what is aligned.
        left: column of block 0's tile; the next block's is one up and right.
        bottom: its row.
        corner_first: this is the first kernel.
    """
    pitch, side, mix, scores = of.pitch, of.side, MIXES[of.side], of.scores
    corner = side * (pitch * (bottom - k.bx) + left + k.bx)
    inner = corner + pitch + 1 + k.tx
    first = k.tx == 0
    temp = np.empty((k.blocks, side + 1, side + 1), dtype=np.int32)
    k.compute(mix.start + mix.row * side)
    loaded = [k.load(of.reference, inner + row * pitch) for row in range(side)]
    if corner_first:
        temp[:, 0, 0] = k.load(scores, k.tx * 0 + corner, first)[::side]
    k.wait()
    k.shared(1, times=side)
    if corner_first:
        k.shared(1, first)
    k.barrier()
    if not corner_first:
        temp[:, 0, 0] = k.load(scores, k.tx * 0 + corner, first)[::side]
    west = k.load(scores, corner + pitch * (k.tx + 1))
    temp[:, 1:, 0] = west.reshape(k.blocks, side)
    k.wait()
    if not corner_first:
        k.shared(1, first)
    k.shared(1)
    k.barrier()
    north = k.load(scores, corner + 1 + k.tx)
    temp[:, 0, 1:] = north.reshape(k.blocks, side)
    k.wait()
    k.shared(1)
    k.barrier()
    yield
    rows = np.concatenate(loaded).reshape(side, k.blocks, side)
    flat, reference = temp.reshape(-1), rows.swapaxes(0, 1).reshape(-1)
    for step in _steps(side, k.blocks):
        _advance(k, of, flat, reference, step)
        yield
    for row in range(side):
        k.shared(1)
        k.compute(mix.row)
        k.store(scores, inner + row * pitch, temp[:, row + 1, 1:].reshape(-1))


@gpu.kernel("needle_cuda_shared_1", registers=32, shared=lambda of: of.shared_bytes, in_step=True)
def grow(k: gpu.BlockTracer, of: Alignment, left: int, bottom: int) -> gpu.Steps:
    """A diagonal of tiles, each longer than the one before."""
    return _tiles(k, of, left, bottom, corner_first=True)


@gpu.kernel("needle_cuda_shared_2", registers=32, shared=lambda of: of.shared_bytes, in_step=True)
def shrink(k: gpu.BlockTracer, of: Alignment, left: int, bottom: int) -> gpu.Steps:
    """A diagonal of tiles, each shorter than the one before."""
    return _tiles(k, of, left, bottom, corner_first=False)


@gpu.program("nw")
def nw(
    memory: gpu.AddressSpace,
    seed: int,
    n: int = gpu.number(2048, 16, 32768, multiple="tile"),
    penalty: int = gpu.number(10, 0, 1000),
    diagonals: int | None = gpu.number(None, most=lambda n, tile: 2 * (n // tile) - 1),
    tile: int = gpu.choice(16, MIXES),
    pitch: int | None = gpu.number(None, lambda n: n + 1, 32769),
) -> gpu.Launches:
    """The scores of the best alignments of all beginnings of two sequences.

    Arrays in the order reference, scores.  The sequences are random letters out of 10, as in the
    suite; equal ones score 5, others -2 (our choice: the suite takes BLOSUM62, which changes no
    address).

    Parameters:
        n: letters of each sequence, a multiple of a tile's side (the suite: 2048).
        penalty: of a gap (the suite: 10).
        diagonals: anti-diagonals of tiles that are aligned, the longest ones; None: all.
        tile: side of a tile: 16 as in the suite's CUDA, or 64 as in MGPUSim, with its instructions.
        pitch: integers from row to row, at least n + 1; None: n + 1.  A part of larger matrices has
            the pages of an instruction that all of them have.
    """
    pitch = pitch or n + 1
    diagonals = diagonals or 2 * (n // tile) - 1
    down, across = np.random.default_rng(seed).integers(1, 11, (2, n))
    reference = np.zeros((n + 1, pitch), dtype=np.int32)
    reference[1:, 1 : n + 1] = np.where(down[:, None] == across, 5, -2)
    scores = np.zeros_like(reference)
    scores[0, : n + 1] = scores[:, 0] = -penalty * np.arange(n + 1)
    of = Alignment(
        memory.allocate("reference", reference),
        memory.allocate("scores", scores),
        pitch,
        tile,
        penalty,
    )
    width = n // tile
    for tiles in range(width - diagonals // 2, width + 1):
        yield grow[tiles, tile](of, 0, tiles - 1)
    for tiles in range(width - 1, width - 1 - (diagonals - 1) // 2, -1):
        yield shrink[tiles, tile](of, width - tiles, width - 1)
