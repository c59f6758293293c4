"""matrix_transpose: a transposition through shared memory, a 4 x 4 piece a thread."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

SIDE = 16
"""Threads of a block's side."""
PIECE = 4
"""Floats of a vector, and rows of a thread's piece."""
TILE = SIDE * PIECE

REGISTERS = 24
"""Our estimate: four vectors and their addresses."""

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


@gpu.kernel("matrixTranspose", registers=REGISTERS, shared=4 * TILE * TILE, in_step=True)
def transpose(k: gpu.BlockTracer, source: gpu.Vectors, result: gpu.Vectors, pitch: int) -> None:
    """A tile of 64 x 64 floats a block.

    Four loads of 16 bytes, of four successive rows: 16 lanes read 256 bytes, the next 16 lanes are
    four rows further down; into shared memory, barrier, four loads from there, exchange of the
    components, four stores like the loads.  Blocks are renumbered along diagonals, to spread them
    over the banks of memory.  Neighbouring blocks therefore differ in row *and* column.

    Takes `source`, `result` (n rows of floats as vectors of four, row-major), `pitch` (floats from
    row to row, of both).
    """
    tile_row = k.bx
    tile_column = (k.bx + k.by) % k.shape.grid[0]
    width = pitch // PIECE
    place = PIECE * k.ty * width + k.tx
    start = tile_row * TILE * width + tile_column * SIDE
    k.compute(IN_INSTRUCTIONS)
    rows = [k.load(source, start + place + r * width) for r in range(PIECE)]
    k.wait()
    k.shared(WRITE_PASSES, times=PIECE)
    k.barrier()
    k.shared(READ_PASSES, times=PIECE)
    k.compute(OUT_INSTRUCTIONS)
    # [block, ty, tx, r, component] is element (4 ty + r, 4 tx + component) of its tile
    tiles = np.stack(rows, axis=1).view(np.float32).reshape(-1, SIDE, SIDE, PIECE, PIECE)
    turned = np.ascontiguousarray(tiles.transpose(0, 2, 1, 4, 3)).reshape(-1, PIECE, PIECE)
    start = tile_column * TILE * width + tile_row * SIDE
    for r in range(PIECE):
        row = np.ascontiguousarray(turned[:, r]).view(gpu.FLOAT4).reshape(-1)
        k.store(result, start + place + r * width, row)


@gpu.program("matrix_transpose")
def matrix_transpose(
    memory: gpu.AddressSpace,
    _seed: int,
    n: int = gpu.number(256, 1, 32768, multiple=TILE),
    pitch: int | None = gpu.number(None, "n", multiple=TILE),
    diagonals: int | None = gpu.number(None, most=lambda n: n // TILE),
) -> gpu.Launches:
    """The transpose of a square matrix.

    Arrays in the order input, output, whose rows are `pitch` apart; element (i, j) is i pitch + j
    (our choice), rounded to a float.

    Parameters:
        n: rows and columns, a multiple of 64 (the suite: 256).
        pitch: floats from row to row, of both matrices: a multiple of 64, at least n; None: n.  A
            part of larger matrices has the pages of an instruction that all of them have.
        diagonals: of tiles, which the blocks go along, those that are transposed; None: all.  One
            touches all rows of both matrices.
    """
    pitch, tiles = pitch or n, n // TILE
    values = np.arange(n * pitch, dtype=np.float32)
    source = memory.read_only("input", values.view(gpu.FLOAT4))
    result = memory.zeros("output", n * pitch // PIECE, gpu.FLOAT4)
    grid = (tiles, diagonals or tiles)
    yield transpose[grid, (SIDE, SIDE)](source, result, pitch)
