"""convolution_separable: a 17 x 17 filter of an image, as a filter of rows and one of columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.tracer import BlockTracer, Shape

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

Floats = DeviceArray[np.float32]
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


@define(kw_only=True, eq=False)
class SeparableFilter(Kernel):
    """A filter along rows or columns: eight results a thread, through shared memory.

    8 x L, one for each result, then the halo before and after, unless they are outside the image;
    all are in flight at once (our choice).  10 shared-memory stores and a barrier follow; then for
    each result 17 shared-memory loads, 17 multiply-adds and S.  The taps are in constant memory,
    without traffic.

    Attributes:
        source, result: images, row-major.
        width: columns of the image.
        taps: (TAPS,) factors.
    """

    source: Floats
    result: Floats
    width: int
    taps: Values
    in_step = True

    @abstractmethod
    def place(self, k: BlockTracer) -> tuple[Lanes, int, Mask, Mask]:
        """Which elements the threads access.

        Returns:
            (threads,) elements in the halo before, distance in elements from one result to the
            next, and (threads,) whether the halos before and after are inside the image.
        """

    @abstractmethod
    def transposed(self, values: Values) -> Values:
        """From (n, block, y, x) of the threads to (n, block, line, place in it), and back."""

    def body(self, k: BlockTracer) -> Iterator[None]:
        before, step, has_before, has_after = self.place(k)
        k.compute(PROLOGUE)
        segments = np.empty((SEGMENTS, k.threads), dtype=np.float32)
        for segment in range(1, SEGMENTS - 1):
            segments[segment] = k.load(self.source, before + segment * step)
        for segment, inside in ((0, has_before), (SEGMENTS - 1, has_after)):
            where = None if inside.all() else inside
            values = k.load(self.source, before + segment * step, where)
            segments[segment] = np.where(inside, values, np.float32(0))
        k.wait()
        for _ in range(SEGMENTS):
            k.shared(PASSES)
        k.barrier()
        yield
        width, height, _ = self.shape.block
        lines = self.transposed(segments.reshape(SEGMENTS, k.blocks, height, width))
        results = self.transposed(filtered(lines, self.taps)).reshape(STEPS, k.threads)
        for segment, values in enumerate(results, 1):
            for _ in range(TAPS):
                k.shared(PASSES)
            k.compute(TAPS)
            k.store(self.result, before + segment * step, values)
            yield


@define(kw_only=True, eq=False)
class RowFilter(SeparableFilter):
    """Blocks of 16 x 4 threads, each for 128 columns of 4 rows; results are 16 columns apart.

    A warp accesses 64 bytes in each of two rows.
    """

    name: str = "convolutionRowsKernel"
    registers_per_thread: int = 31
    shared_bytes: int = 4 * ROWS_BLOCK[1] * SEGMENTS * ROWS_BLOCK[0]

    def place(self, k: BlockTracer) -> tuple[Lanes, int, Mask, Mask]:
        unit, height, _ = ROWS_BLOCK
        x = STRIP_WIDTH * k.bx - unit + k.tx
        before = (height * k.by + k.ty) * self.width + x
        return before, unit, x >= 0, x + unit + STRIP_WIDTH < self.width

    def transposed(self, values: Values) -> Values:
        return values


@define(kw_only=True, eq=False)
class ColumnFilter(SeparableFilter):
    """Blocks of 16 x 8 threads, each for 16 columns of 64 rows; results are 8 rows apart.

    Shared memory has a line of 81 words for each column: 80 rows and one of padding.
    """

    name: str = "convolutionColumnsKernel"
    registers_per_thread: int = 32
    shared_bytes: int = 4 * COLUMNS_BLOCK[0] * (SEGMENTS * COLUMNS_BLOCK[1] + 1)

    def place(self, k: BlockTracer) -> tuple[Lanes, int, Mask, Mask]:
        width, unit, _ = COLUMNS_BLOCK
        y = STRIP_HEIGHT * k.by - unit + k.ty
        before = y * self.width + width * k.bx + k.tx
        has_after = y + unit + STRIP_HEIGHT < STRIP_HEIGHT * self.shape.grid[1]
        return before, unit * self.width, y >= 0, has_after

    def transposed(self, values: Values) -> Values:
        return values.swapaxes(2, 3)


@frozen
class ConvolutionSeparableParameters:
    """Size and length of convolution_separable.

    Attributes:
        width: columns of the image, a multiple of 128 (the SDK: 3072).
        height: rows of the image, a multiple of 64 (the SDK: 3072).
        iterations: times that both filters run, all alike (the SDK: a warm-up and 16).
    """

    width: int = field(default=3072, validator=[ge(1), le(32768)])
    height: int = field(default=3072, validator=[ge(1), le(32768)])
    iterations: int = field(default=17, validator=ge(1))

    def __attrs_post_init__(self) -> None:
        for name, unit in (("width", STRIP_WIDTH), ("height", STRIP_HEIGHT)):
            if (value := getattr(self, name)) % unit:
                raise ValueError(f"{name!r} must be a multiple of {unit}: {value}")


@program("convolution_separable", ConvolutionSeparableParameters)
class ConvolutionSeparable(Program):
    """Rows of the input are filtered into the buffer, its columns into the output.

    Arrays in the order Input, Output, Buffer.  Pixels and taps are whole numbers from 0 to 15;
    beyond the image, pixels count as 0.
    """

    def __init__(self, parameters: ConvolutionSeparableParameters, seed: int) -> None:
        super().__init__("convolution_separable")
        self.width, self.height = parameters.width, parameters.height
        self.iterations = parameters.iterations
        generator = np.random.default_rng(seed)
        self.taps: Values = generator.integers(16, size=TAPS).astype(np.float32)
        pixels = self.width * self.height
        image = generator.integers(16, size=pixels, dtype=np.uint8).astype(np.float32)
        image.flags.writeable = False
        self.input = self.memory.allocate("Input", image)
        self.output = self.memory.allocate("Output", np.zeros(pixels, dtype=np.float32))
        self.buffer = self.memory.allocate("Buffer", np.zeros(pixels, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        rows = (self.width // STRIP_WIDTH, self.height // ROWS_BLOCK[1], 1)
        columns = (self.width // COLUMNS_BLOCK[0], self.height // STRIP_HEIGHT, 1)
        for _ in range(self.iterations):
            yield RowFilter(
                shape=Shape(rows, ROWS_BLOCK),
                source=self.input,
                result=self.buffer,
                width=self.width,
                taps=self.taps,
            )
            yield ColumnFilter(
                shape=Shape(columns, COLUMNS_BLOCK),
                source=self.buffer,
                result=self.output,
                width=self.width,
                taps=self.taps,
            )
