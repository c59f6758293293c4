"""stencil2d: nine-point smoothing of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

STRIP_ROWS = 16
STRIP_COLUMNS = 64
START, LOAD, EDGE, FIRST, SMOOTH, END = 103, 11, 9, 6, 10, 1
"""Instructions before the first load, after that of a row and that of an element beside a row;
loads from shared memory before the first row, instructions of a row, and after the last: 965 a
wavefront, and 13 and 14 from row to row, as in MGPUSim's trace."""
PAD = 16
"""Rows begin at multiples of this number of elements."""
CENTER, CARDINAL, DIAGONAL = np.float32(0.25), np.float32(0.15), np.float32(0.05)
"""Weights of an element and of its neighbours beside and across."""


def pitch_of(columns: int) -> int:
    """Elements from one row to the next: the columns and both borders, padded."""
    return -(-(columns + 2) // PAD) * PAD


def smoothed(tile: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inner elements of matrices, each averaged with its eight neighbours.

    Rows run along the first axis, columns along the last one.
    """
    middle, above, below = tile[1:-1], tile[:-2], tile[2:]
    cardinal = above[..., 1:-1] + below[..., 1:-1] + middle[..., :-2] + middle[..., 2:]
    diagonal = above[..., :-2] + above[..., 2:] + below[..., :-2] + below[..., 2:]
    smooth: NDArray[np.float32] = CENTER * middle[..., 1:-1] + CARDINAL * cardinal
    smooth += DIAGONAL * diagonal
    return smooth


@gpu.kernel(
    "StencilKernel", registers=32, shared=4 * (STRIP_ROWS + 2) * (STRIP_COLUMNS + 2), in_step=True
)
def smooth(k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, pitch: int) -> gpu.Steps:
    """A block of (1, 64) threads for a strip of 16 rows and 64 columns, as in MGPUSim.

    Each thread loads its column of 18 rows, borders included, one after another into shared
    memory; then the first thread loads the 18 elements left of the strip and the last one those
    right of it (their order is our choice).  After a barrier, three loads from shared memory, ten
    instructions and a store for each row: two rows of three stay in registers.  Shared memory is
    read along rows: no bank conflicts.  The matrix has a border of one element.
    """
    column = STRIP_COLUMNS * k.by + k.ty + 1
    top = STRIP_ROWS * k.bx * pitch
    rows = [top + pitch * row for row in range(STRIP_ROWS + 2)]
    k.compute(START)
    tile = np.empty((STRIP_ROWS + 2, k.blocks, STRIP_COLUMNS + 2), dtype=np.float32)
    for number, row in enumerate(rows):
        loaded = _loaded(k, source, row + column, LOAD)
        tile[number, :, 1:-1] = loaded.reshape(k.blocks, STRIP_COLUMNS)
    for edge, beside in ((0, -1), (STRIP_COLUMNS - 1, 1)):
        where = k.ty == edge
        for number, row in enumerate(rows):
            border = _loaded(k, source, row + column + beside, EDGE, where)
            tile[number, :, edge + beside + 1] = border[edge::STRIP_COLUMNS]
    k.barrier()
    yield
    k.shared(1, times=FIRST)
    for row, values in zip(rows[1:-1], smoothed(tile), strict=True):
        k.shared(1, times=3)
        k.compute(SMOOTH)
        k.store(result, row + column, values.reshape(-1))
        yield
    k.compute(END)


def _loaded(
    k: gpu.BlockTracer,
    source: gpu.Floats,
    place: gpu.Lanes,
    instructions: int,
    where: gpu.Mask | None = None,
) -> NDArray[np.float32]:
    """What is loaded and written to shared memory."""
    values = k.fetch(source, place, where)
    k.shared(1, where)
    k.compute(instructions, where)
    return values


@gpu.program("stencil2d")
def stencil2d(
    memory: gpu.AddressSpace,
    seed: int,
    rows: int = gpu.number(512, 1, 32768, multiple=STRIP_ROWS),
    columns: int = gpu.number(512, 1, 32768, multiple=STRIP_COLUMNS),
    iterations: int = gpu.number(1000),
    pitch: int | None = gpu.number(None, lambda columns: columns + 2, 65536),
) -> gpu.Launches:
    """Repeated smoothing of a matrix whose border stays.

    Arrays in the order da, db; each iteration reads one and writes the other.  Elements are random
    in 0..1, the border 0 (our choice).

    Parameters:
        rows: of the matrix without its border, a multiple of 16 (the suite: 512 to 4096).
        columns: of the matrix without its border, a multiple of 64.
        pitch: floats from row to row; None: columns and both borders, padded to 16.  A part of
            wider matrices has the pages of an instruction that all of them have.
        iterations: launches (the suite: 1000).
    """
    pitch = pitch or pitch_of(columns)
    matrix = np.zeros((rows + 2, pitch), dtype=np.float32)
    inside = np.random.default_rng(seed).random((rows, columns), dtype=np.float32)
    matrix[1:-1, 1 : columns + 1] = inside
    source = memory.allocate("da", matrix)
    result = memory.zeros("db", matrix.size, np.float32)
    grid = rows // STRIP_ROWS, columns // STRIP_COLUMNS
    for _ in range(iterations):
        yield smooth[grid, (1, STRIP_COLUMNS)](source, result, pitch)
        source, result = result, source
