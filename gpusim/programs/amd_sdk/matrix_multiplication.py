"""matrix_multiplication: a product of matrices, a 4 x 4 piece a thread."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

SIDE = 8
"""Threads of a block's side."""
PIECE = 4
"""Floats of a vector, and rows of a thread's piece."""
SHARED_LOADS = 7
"""Of a step: a vector in one, and three in two halves."""
TILE = SIDE * PIECE
START, TILE_START, TILE_NEXT, TURN, STEP, SUMS, TILE_END, END = 118, 7, 19, 13, 35, 83, 8, 18
STORES = 14
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: before the first tile;
before the loads of a tile of A, and after the first one; before the first step; of a step beside
its sums, and these; after a tile; before the stores, and of these.  8898 a wavefront with 256
columns of A, as in MGPUSim's trace."""


@frozen
class Product:
    """Matrices of c = a b, whose elements are vectors of four floats.

    Attributes:
        a, b, c: (rows, inner / 4), (inner, columns / 4), (rows, columns / 4).
        inner: columns of A, and rows of B.
        own_rows: each block reads its own rows of A, not the first 32.
    """

    a: gpu.Vectors
    b: gpu.Vectors
    c: gpu.Vectors
    inner: int
    own_rows: bool


@gpu.kernel("mmmKernel_local", registers=74, shared=4 * TILE * TILE, in_step=True)
def multiply(k: gpu.BlockTracer, of: Product) -> gpu.Steps:
    """A tile of 32 x 32 elements a block.

    For each 32 columns of A: its tile into shared memory, a thread four rows, each load waited for;
    barrier; then eight times four rows of B, which are loaded where they are needed, and as many
    vectors of shared memory; barrier.  Four stores.
    """
    width, wide = of.inner // PIECE, k.shape.grid[0] * SIDE
    row = PIECE * (k.ty + (SIDE * k.by if of.own_rows else 0))
    column = k.t
    total = np.zeros((k.threads, PIECE, PIECE), dtype=np.float32)
    k.compute(START)
    for tile in range(of.inner // TILE):
        k.compute(TILE_START)
        place = row * width + SIDE * tile + k.tx
        rows = [_loaded_row(k, of.a, place + r * width, r == 0) for r in range(PIECE)]
        k.barrier()
        k.compute(TURN)
        # [block, y, row of the thread, x, component]
        left = np.stack(rows, axis=1).view(np.float32).reshape(k.blocks, SIDE, SIDE, PIECE, PIECE)
        left = left.transpose(0, 1, 3, 2, 4).reshape(k.blocks, SIDE, PIECE, TILE)
        for step in range(SIDE):
            inner = TILE * tile + PIECE * step
            k.compute(STEP)
            vectors = [k.load(of.b, column + (inner + r) * wide) for r in range(PIECE)]
            k.shared(1, times=SHARED_LOADS)
            k.wait()
            k.compute(SUMS)
            right = np.stack(vectors, axis=1).view(np.float32).reshape(-1, SIDE, SIDE, PIECE, PIECE)
            part = left[..., PIECE * step : PIECE * (step + 1)]
            total += np.einsum("byrc,byxcf->byxrf", part, right).reshape(total.shape)
            yield
        k.barrier()
        k.compute(TILE_END)
    k.compute(END)
    element = PIECE * (SIDE * k.by + k.ty) * wide + column
    for r in range(PIECE):
        value = np.ascontiguousarray(total[:, r]).view(gpu.FLOAT4).reshape(-1)
        k.store(of.c, element + r * wide, value)
    k.compute(STORES)


def _loaded_row(
    k: gpu.BlockTracer, a: gpu.Vectors, place: gpu.Lanes, first: bool
) -> NDArray[np.void]:
    """A row of a thread's piece, loaded and put into shared memory."""
    row = k.load(a, place)
    if first:
        k.compute(TILE_NEXT)
    k.wait()
    k.compute(1)
    k.shared(1)
    return row


@gpu.program("matrix_multiplication")
def matrix_multiplication(
    memory: gpu.AddressSpace,
    seed: int,
    rows: int = gpu.number(64, TILE, 16384, multiple=TILE),
    inner: int = gpu.number(64, TILE, 16384, multiple=TILE),
    columns: int = gpu.number(64, TILE, 16384, multiple=TILE),
    own_rows: bool = True,
) -> gpu.Launches:
    """The product C = A B.

    Arrays in the order A, B, C; random from 0 to 1 (our choice).

    Parameters:
        rows, inner, columns: A has rows x inner elements, B inner x columns: multiples of 32 (x, y
            and z of MGPUSim: 64).
        own_rows: each block reads its own rows of A; ``false``: the first 32, as MGPUSim's kernel.
    """
    rng = np.random.default_rng(seed)
    a = memory.read_only("A", rng.random(rows * inner, dtype=np.float32).view(gpu.FLOAT4))
    b = memory.read_only("B", rng.random(inner * columns, dtype=np.float32).view(gpu.FLOAT4))
    c = memory.zeros("C", rows * columns // PIECE, gpu.FLOAT4)
    grid = (columns // TILE, rows // TILE)
    yield multiply[grid, (SIDE, SIDE)](Product(a, b, c, inner, own_rows))
