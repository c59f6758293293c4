"""convolution_separable: a 17 x 17 filter of an image, as a filter of rows and one of columns."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

RADIUS = 8
TAPS = 2 * RADIUS + 1
STEPS = 8
"""Results of a thread."""
SEGMENTS = STEPS + 2
"""What a thread loads: an element for each result, and one in the halo on either side."""
ROWS_BLOCK = (16, 4, 1)
COLUMNS_BLOCK = (16, 8, 1)
STRIP_WIDTH = STEPS * ROWS_BLOCK[0]
"""Columns of the image that a block of the row filter covers."""
STRIP_HEIGHT = STEPS * COLUMNS_BLOCK[1]
"""Rows of the image that a block of the column filter covers."""
PASSES = 2
"""A warp is two rows of 16 threads; in either filter, some words of both share a bank."""

Values = NDArray[np.float32]


def filtered(segments: Values, taps: Values) -> Values:
    """Convolution along lines that lie in segments.

    Args:
        segments: (SEGMENTS, blocks, lines, unit) values; segments of a line follow each other.
        taps: (TAPS,) factors.

    Returns:
        (STEPS, blocks, lines, unit) results for all segments but the first and the last.
    """
    _, blocks, lines, unit = segments.shape
    line = segments.transpose(1, 2, 0, 3).reshape(blocks * lines, SEGMENTS * unit)
    windows = sliding_window_view(line, TAPS, axis=1)[:, unit - RADIUS :][:, : STEPS * unit]
    results: Values = (windows @ taps[::-1]).reshape(blocks, lines, STEPS, unit)
    return results.transpose(2, 0, 1, 3)


@frozen(eq=False)
class Lines:
    """How a block's lines lie in the images.

    Attributes:
        before: (threads,) elements in the halo before.
        step: distance in elements from one result to the next.
        has_before, has_after: (threads,) the halos before and after are inside the image.
        axes: of (n, block, y, x) of the threads, in the order (n, block, line, place in it).
    """

    before: gpu.Lanes
    step: int
    has_before: gpu.Mask
    has_after: gpu.Mask
    axes: tuple[int, int, int, int]


@gpu.kernel(
    "convolutionRowsKernel",
    registers=31,
    shared=4 * ROWS_BLOCK[1] * SEGMENTS * ROWS_BLOCK[0],
    in_step=True,
)
def filter_rows(
    k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, width: int, taps: Values
) -> gpu.Steps:
    """Blocks of 16 x 4 threads, each for 128 columns of 4 rows; results are 16 columns apart.

    A warp accesses 64 bytes in each of two rows.  What it does: `_filter`.
    """
    unit, height, _ = ROWS_BLOCK
    x = STRIP_WIDTH * k.bx - unit + k.tx
    before = (height * k.by + k.ty) * width + x
    lines = Lines(before, unit, x >= 0, x + unit + STRIP_WIDTH < width, (0, 1, 2, 3))
    return _filter(k, source, result, lines, taps)


@gpu.kernel(
    "convolutionColumnsKernel",
    registers=32,
    shared=4 * COLUMNS_BLOCK[0] * (SEGMENTS * COLUMNS_BLOCK[1] + 1),
    in_step=True,
)
def filter_columns(
    k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, width: int, taps: Values
) -> gpu.Steps:
    """Blocks of 16 x 8 threads, each for 16 columns of 64 rows; results are 8 rows apart.

    Shared memory has a line of 81 words for each column: 80 rows and one of padding.  What a warp
    does: `_filter`.
    """
    columns, unit, _ = COLUMNS_BLOCK
    y = STRIP_HEIGHT * k.by - unit + k.ty
    before = y * width + columns * k.bx + k.tx
    has_after = y + unit + STRIP_HEIGHT < STRIP_HEIGHT * k.shape.grid[1]
    lines = Lines(before, unit * width, y >= 0, has_after, (0, 1, 3, 2))
    return _filter(k, source, result, lines, taps)


def _filter(
    k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, lines: Lines, taps: Values
) -> gpu.Steps:
    """A filter along rows or columns: eight results a thread, through shared memory.

    8 x L, one for each result, then the halo before and after, unless they are outside the image;
    all are in flight at once (our choice).  10 shared-memory stores and a barrier follow; then for
    each result 17 shared-memory loads, 17 multiply-adds and S.  The taps are in constant memory,
    without traffic.
    """
    k.compute(gpu.PROLOGUE)
    segments = np.empty((SEGMENTS, k.threads), dtype=np.float32)
    for segment in range(1, SEGMENTS - 1):
        segments[segment] = k.load(source, lines.before + segment * lines.step)
    for segment, inside in ((0, lines.has_before), (SEGMENTS - 1, lines.has_after)):
        where = None if inside.all() else inside
        values = k.load(source, lines.before + segment * lines.step, where)
        segments[segment] = np.where(inside, values, np.float32(0))
    k.wait()
    k.shared(PASSES, times=SEGMENTS)
    k.barrier()
    yield
    width, height, _ = k.shape.block
    placed = segments.reshape(SEGMENTS, k.blocks, height, width).transpose(lines.axes)
    results = filtered(placed, taps).transpose(lines.axes).reshape(STEPS, k.threads)
    for segment, values in enumerate(results, 1):
        k.shared(PASSES, times=TAPS)
        k.compute(TAPS)
        k.store(result, lines.before + segment * lines.step, values)
        yield


@gpu.program("convolution_separable")
def convolution_separable(
    memory: gpu.AddressSpace,
    seed: int,
    width: int = gpu.number(3072, 1, 32768, multiple=STRIP_WIDTH),
    height: int = gpu.number(3072, 1, 32768, multiple=STRIP_HEIGHT),
    iterations: int = gpu.number(17),
) -> gpu.Launches:
    """Rows of the input are filtered into the buffer, its columns into the output.

    Arrays in the order Input, Output, Buffer.  Pixels and taps are whole numbers from 0 to 15;
    beyond the image, pixels count as 0.

    Parameters:
        width: columns of the image, a multiple of 128 (the SDK: 3072).
        height: rows of the image, a multiple of 64 (the SDK: 3072).
        iterations: times that both filters run, all alike (the SDK: a warm-up and 16).
    """
    generator = np.random.default_rng(seed)
    taps = generator.integers(16, size=TAPS).astype(np.float32)
    image = generator.integers(16, size=width * height, dtype=np.uint8).astype(np.float32)
    source = memory.read_only("Input", image)
    output = memory.zeros("Output", width * height, np.float32)
    buffer = memory.zeros("Buffer", width * height, np.float32)
    rows = width // STRIP_WIDTH, height // ROWS_BLOCK[1]
    columns = width // COLUMNS_BLOCK[0], height // STRIP_HEIGHT
    for _ in range(iterations):
        yield filter_rows[rows, ROWS_BLOCK](source, buffer, width, taps)
        yield filter_columns[columns, COLUMNS_BLOCK](buffer, output, width, taps)
