"""matrix_transpose: a transposition through shared memory, a 4 x 4 piece a thread."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import FLOAT4
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

SIDE = 16
"""Threads of a block's side."""
PIECE = 4
"""Floats of a vector, and rows of a thread's piece."""
TILE = SIDE * PIECE

IN_INSTRUCTIONS = 89
"""Before the loads: indices and the remainder by the grid's width, a division.  A wavefront has 146
instructions, as in MGPUSim's trace: 61 of these come before the first load."""
OUT_INSTRUCTIONS = 40
"""Before the stores: indices and exchange of components, of the same trace."""
WRITE_PASSES = 4
"""32 lanes write two rows of 16 vectors: 512 bytes, without bank conflicts."""
READ_PASSES = 32
"""16 lanes read vectors that are 1 KiB apart, so all in the same four banks; a second set of 16
lanes reads the vectors beside them, but vectors are served 8 lanes at a time: 4 times 8 passes."""


@define(kw_only=True, eq=False)
class TransposeKernel(Kernel):
    """A tile of 64 x 64 floats a block.

    Four loads of 16 bytes, of four successive rows: 16 lanes read 256 bytes, the next 16 lanes are
    four rows further down; into shared memory, barrier, four loads from there, exchange of the
    components, four stores like the loads.  Blocks are renumbered along diagonals, to spread them
    over the banks of memory.  Neighbouring blocks therefore differ in row *and* column.

    Attributes:
        source, result: n rows of floats as vectors of four, row-major.
        pitch: floats from row to row, of both.
    """

    source: DeviceArray[np.void]
    result: DeviceArray[np.void]
    pitch: int
    name: str = "matrixTranspose"
    registers_per_thread: int = 24  # our estimate: four vectors and their addresses
    shared_bytes: int = 4 * TILE * TILE
    in_step = True

    def body(self, k: BlockTracer) -> None:
        tile_row = k.bx
        tile_column = (k.bx + k.by) % self.shape.grid[0]
        width = self.pitch // PIECE
        place = PIECE * k.ty * width + k.tx
        start = tile_row * TILE * width + tile_column * SIDE
        k.compute(IN_INSTRUCTIONS)
        rows = [k.load(self.source, start + place + r * width) for r in range(PIECE)]
        k.wait()
        for _ in range(PIECE):
            k.shared(WRITE_PASSES)
        k.barrier()
        for _ in range(PIECE):
            k.shared(READ_PASSES)
        k.compute(OUT_INSTRUCTIONS)
        # [block, ty, tx, r, component] is element (4 ty + r, 4 tx + component) of its tile
        tiles = np.stack(rows, axis=1).view(np.float32).reshape(-1, SIDE, SIDE, PIECE, PIECE)
        turned = np.ascontiguousarray(tiles.transpose(0, 2, 1, 4, 3)).reshape(-1, PIECE, PIECE)
        start = tile_column * TILE * width + tile_row * SIDE
        for r in range(PIECE):
            row = np.ascontiguousarray(turned[:, r]).view(FLOAT4).reshape(-1)
            k.store(self.result, start + place + r * width, row)


@frozen
class MatrixTransposeParameters:
    """Size of matrix_transpose.

    Attributes:
        n: rows and columns, a multiple of 64 (the suite: 256).
        pitch: floats from row to row, of both matrices: a multiple of 64, at least n; None: n.  A
            part of larger matrices has the pages of an instruction that all of them have.
        diagonals: of tiles, which the blocks go along, those that are transposed; None: all.  One
            touches all rows of both matrices.
    """

    n: int = field(default=256, validator=[ge(1), le(32768)])
    pitch: int | None = field(default=None)
    diagonals: int | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        for name, value in (("n", self.n), ("pitch", self.pitch or self.n)):
            if value % TILE:
                raise ValueError(f"{name!r} must be a multiple of {TILE}: {value}")
        if self.pitch is not None and self.pitch < self.n:
            raise ValueError(f"'pitch' must be at least n = {self.n}: {self.pitch}")
        most = self.n // TILE
        if self.diagonals is not None and not 1 <= self.diagonals <= most:
            raise ValueError(f"'diagonals' must be from 1 to {most}: {self.diagonals}")


@program("matrix_transpose", MatrixTransposeParameters)
class MatrixTranspose(Program):
    """The transpose of a square matrix.

    Arrays in the order input, output, whose rows are `pitch` apart; element (i, j) is i pitch + j
    (our choice), rounded to a float.
    """

    def __init__(self, parameters: MatrixTransposeParameters, seed: int) -> None:
        super().__init__("matrix_transpose")
        self.n = n = parameters.n
        self.pitch = pitch = parameters.pitch or n
        self.diagonals = parameters.diagonals or n // TILE
        values = np.arange(n * pitch, dtype=np.float32)
        values.flags.writeable = False
        empty = np.zeros(n * pitch // PIECE, dtype=FLOAT4)
        self.source = self.memory.allocate("input", values.view(FLOAT4))
        self.result = self.memory.allocate("output", empty)

    def launches(self) -> Iterator[Launch]:
        tiles = self.n // TILE
        yield TransposeKernel(
            shape=Shape((tiles, self.diagonals, 1), (SIDE, SIDE, 1)),
            source=self.source,
            result=self.result,
            pitch=self.pitch,
        )
