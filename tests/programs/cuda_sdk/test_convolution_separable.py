"""convolution_separable: the filtered image, and what its warps do."""

import numpy as np
import pytest
import scipy.ndimage

from gpusim.hardware.sm.coalescer import coalesce
from gpusim.programs.cuda_sdk.convolution_separable import (
    ConvolutionSeparable,
    ConvolutionSeparableParameters,
)
from tests.programs.drain import drain, warp_operations
from tests.programs.graph_inputs import nth_launch, run, run_backwards, run_forwards

Operations = list[tuple[str, str | int, list[int]]]

WIDTH = 3072


def started(width: int, height: int, iterations: int = 1) -> ConvolutionSeparable:
    return ConvolutionSeparable(ConvolutionSeparableParameters(width, height, iterations), 6)


@pytest.mark.parametrize(("width", "height"), [(128, 64), (256, 64), (384, 192)])
def test_both_filters(width: int, height: int) -> None:
    program = started(width, height, 2)
    assert drain(program) == ["convolutionRowsKernel", "convolutionColumnsKernel"] * 2
    image = program.input.data.reshape(height, width).astype(float)
    assert set(image.ravel()) == set(range(16))
    assert len(set(program.taps)) > 4
    rows = scipy.ndimage.convolve1d(image, program.taps, axis=1, mode="constant")
    both = scipy.ndimage.convolve1d(rows, program.taps, axis=0, mode="constant")
    assert np.array_equal(program.buffer.data.reshape(height, width), rows)
    assert np.array_equal(program.output.data.reshape(height, width), both)


def test_arrays_in_the_order_of_the_sdk() -> None:
    program = started(256, 64)
    assert [(b.name, b.bytes) for b in program.buffers] == [
        (name, 4 * 256 * 64) for name in ("Input", "Output", "Buffer")
    ]


def expected(source: str, result: str, loads: list[list[int]]) -> Operations:
    """What a warp does; the first eight loads tell where it stores."""
    found: Operations = [("COMPUTE", 8, [])]
    found += [("LOAD", source, lanes) for lanes in loads]
    found += [("WAIT", 0, []), *[("SHARED", 2, [])] * 10, ("BARRIER", 0, [])]
    for lanes in loads[:8]:
        found += [*[("SHARED", 2, [])] * 17, ("COMPUTE", 17, []), ("STORE", result, lanes)]
    return found


def two_rows(row: int, column: int) -> list[int]:
    """Elements of 16 threads in a row and 16 in the next."""
    return [WIDTH * (row + y) + column + x for y in (0, 1) for x in range(16)]


def test_row_filter() -> None:
    program = started(WIDTH, 64)
    kernel = nth_launch(program, 0)
    assert (kernel.blocks, kernel.threads_per_block) == (24 * 16, 64)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (31, 2560)
    for bx, halos in ((0, [9]), (5, [0, 9]), (23, [0])):
        columns = [128 * bx - 16 + 16 * segment for segment in [*range(1, 9), *halos]]
        loads = [two_rows(4 * 3 + 2, column) for column in columns]
        operations = warp_operations(kernel, program, block=bx + 24 * 3, warp=1)
        assert operations == expected("Input", "Buffer", loads)


def test_column_filter() -> None:
    program = started(WIDTH, 192)
    kernel = nth_launch(program, 1)
    assert (kernel.blocks, kernel.threads_per_block) == (192 * 3, 128)
    assert (kernel.registers_per_thread, kernel.shared_bytes) == (32, 5184)
    for by, halos in ((0, [9]), (1, [0, 9]), (2, [0])):
        rows = [64 * by - 8 + 8 * segment + 2 * 3 for segment in [*range(1, 9), *halos]]
        loads = [two_rows(row, 16 * 7) for row in rows]
        operations = warp_operations(kernel, program, block=7 + 192 * by, warp=3)
        assert operations == expected("Buffer", "Output", loads)
    pages = {place * 4 // 4096 for load in loads for place in load}
    assert len(pages) == 2 * 9, "rows of 12 KiB: a page for each row"


def test_two_transactions_an_access_in_either_filter() -> None:
    program = started(256, 64)
    for launch in program.launches():
        for chunks in run(launch, range(launch.blocks)):
            for segment in (s for chunk in chunks for s in coalesce(chunk, 128)):
                accesses = zip(segment.kinds, segment.args, strict=True)
                assert {count for kind, count in accesses if kind in (1, 2)} == {2}


def test_bank_conflicts() -> None:
    x, y = np.tile(np.arange(16), 2), np.repeat([0, 1], 16)
    for words in (160 * y + x, 81 * x + y):  # the shared memory of either filter
        assert np.bincount(words % 32).max() == 2


def test_the_order_of_blocks_is_no_matter() -> None:
    one, other = started(256, 128), started(256, 128)
    assert run_forwards(one) == run_backwards(other)
    assert np.array_equal(one.output.data, other.output.data)


@pytest.mark.parametrize(("width", "height", "text"), [(200, 64, "'width'"), (128, 96, "'height'")])
def test_sizes_that_do_not_fit_are_refused(width: int, height: int, text: str) -> None:
    with pytest.raises(ValueError, match=f"{text} must be a multiple of"):
        ConvolutionSeparableParameters(width, height)
