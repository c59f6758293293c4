"""stencil2d: nine-point smoothing of a matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.tracer import BlockTracer, Shape

STRIP_ROWS = 16
STRIP_COLUMNS = 64
START, LOAD, EDGE, FIRST, SMOOTH, END = 103, 11, 9, 6, 10, 1
"""Instructions before the first load, after that of a row and that of an element beside a row;
loads from shared memory before the first row, instructions of a row, and after the last: 965 a
wavefront, and 13 and 14 from row to row, as in MGPUSim's trace."""
PAD = 16
"""Rows begin at multiples of so many elements."""
CENTER, CARDINAL, DIAGONAL = np.float32(0.25), np.float32(0.15), np.float32(0.05)
"""Weights of an element and of its neighbours beside and across."""

Floats = DeviceArray[np.float32]


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


@define(kw_only=True, eq=False)
class StencilKernel(Kernel):
    """A block of (1, 64) threads for a strip of 16 rows and 64 columns, as in MGPUSim.

    Each thread loads its column of 18 rows, borders included, one after another into shared
    memory; then the first thread loads the 18 elements left of the strip and the last one those
    right of it (their order is our choice).  After a barrier, three loads from shared memory, ten
    instructions and a store for each row: two rows of three stay in registers.  Shared memory is
    read along rows: no bank conflicts.

    Attributes:
        source, result: the matrix with its border of one element, before and after.
        pitch: elements of a row.
    """

    source: Floats
    result: Floats
    pitch: int
    name: str = "StencilKernel"
    registers_per_thread: int = 32
    shared_bytes: int = 4 * (STRIP_ROWS + 2) * (STRIP_COLUMNS + 2)
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        column = STRIP_COLUMNS * k.by + k.ty + 1
        top = STRIP_ROWS * k.bx * self.pitch
        rows = [top + self.pitch * row for row in range(STRIP_ROWS + 2)]
        k.compute(START)
        tile = np.empty((STRIP_ROWS + 2, k.blocks, STRIP_COLUMNS + 2), dtype=np.float32)
        for number, row in enumerate(rows):
            loaded = self._loaded(k, row + column, LOAD)
            tile[number, :, 1:-1] = loaded.reshape(k.blocks, STRIP_COLUMNS)
        for edge, beside in ((0, -1), (STRIP_COLUMNS - 1, 1)):
            where = k.ty == edge
            for number, row in enumerate(rows):
                border = self._loaded(k, row + column + beside, EDGE, where)
                tile[number, :, edge + beside + 1] = border[edge::STRIP_COLUMNS]
        k.barrier()
        yield
        for _ in range(FIRST):
            k.shared(1)
        for row, smooth in zip(rows[1:-1], smoothed(tile), strict=True):
            for _ in range(3):
                k.shared(1)
            k.compute(SMOOTH)
            k.store(self.result, row + column, smooth.reshape(-1))
            yield
        k.compute(END)

    def _loaded(
        self, k: BlockTracer, place: Lanes, instructions: int, where: Mask | None = None
    ) -> NDArray[np.float32]:
        """What is loaded and written to shared memory."""
        values = k.load(self.source, place, where)
        k.wait(0, where)
        k.shared(1, where)
        k.compute(instructions, where)
        return values


@frozen
class Stencil2dParameters:
    """Size and length of stencil2d.

    Attributes:
        rows: of the matrix without its border, a multiple of 16 (the suite: 512 to 4096).
        columns: likewise, a multiple of 64.
        pitch: floats from row to row; None: columns and both borders, padded to 16.  A part of
            wider matrices has the pages of an instruction that all of them have.
        iterations: launches (the suite: 1000).
    """

    rows: int = field(default=512, validator=[ge(1), le(32768)])
    columns: int = field(default=512, validator=[ge(1), le(32768)])
    iterations: int = field(default=1000, validator=ge(1))
    pitch: int | None = field(default=None, validator=optional(le(65536)))

    def __attrs_post_init__(self) -> None:
        for name, unit in (("rows", STRIP_ROWS), ("columns", STRIP_COLUMNS)):
            if (value := getattr(self, name)) % unit:
                raise ValueError(f"{name!r} must be a multiple of {unit}: {value}")
        least = self.columns + 2
        if self.pitch is not None and self.pitch < least:
            raise ValueError(f"'pitch' must be at least columns + 2 = {least}: {self.pitch}")


@program("stencil2d", Stencil2dParameters)
class Stencil2d(Program):
    """Repeated smoothing of a matrix whose border stays.

    Arrays in the order da, db; each iteration reads one and writes the other.  Elements are random
    in 0..1, the border 0 (our choice).
    """

    def __init__(self, parameters: Stencil2dParameters, seed: int) -> None:
        super().__init__("stencil2d")
        rows, columns = parameters.rows, parameters.columns
        self.pitch = parameters.pitch or pitch_of(columns)
        self.grid = Shape((rows // STRIP_ROWS, columns // STRIP_COLUMNS, 1), (1, STRIP_COLUMNS, 1))
        self.iterations = parameters.iterations
        matrix = np.zeros((rows + 2, self.pitch), dtype=np.float32)
        inside = np.random.default_rng(seed).random((rows, columns), dtype=np.float32)
        matrix[1:-1, 1 : columns + 1] = inside
        self.da = self.memory.allocate("da", matrix)
        self.db = self.memory.allocate("db", np.zeros_like(matrix))

    def launches(self) -> Iterator[Launch]:
        source, result = self.da, self.db
        for _ in range(self.iterations):
            yield StencilKernel(shape=self.grid, source=source, result=result, pitch=self.pitch)
            source, result = result, source
