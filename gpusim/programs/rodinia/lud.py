"""lud: LU decomposition of a matrix in place, tile by tile."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

TILE = 16
ADDRESS = 2
"""Instructions for the address of a row of a tile."""

DIVISION = 8
"""Instructions of a float division (our choice)."""

Tile = NDArray[np.float32]


@frozen
class Matrix:
    """A matrix whose tiles of 16 x 16 elements kernels have in shared memory, without padding.

    Running sums are stored to shared memory in every iteration, since the operands may alias them
    (as compiled code does).  Instructions are those of PTX of nvcc 11.8 for sm_35: four a term of a
    sum, addresses and the loop among them; two for each row that is loaded, three for each stored.

    Attributes:
        m: (n * n,) its elements.
        n: its rows and columns.
    """

    m: gpu.Floats
    n: int

    def load_rows(
        self, k: gpu.BlockTracer, first: gpu.Lanes, rows: range, where: gpu.Mask | None = None
    ) -> Tile:
        """Load rows of a tile at once, then put them into shared memory, conflict-free.

        Args:
            k: the block.
            first: (threads,) the elements of row 0 of the tile.
            rows: of the tile.
            where: the 16 threads of a block that take part.

        Returns:
            (blocks, rows, 16) elements.
        """
        loaded = [k.load(self.m, first + row * self.n, where) for row in rows]
        k.wait(0, where)
        for _ in rows:
            k.compute(ADDRESS, where)
            k.shared(1, where)
        elements = np.array(loaded if where is None else [row[where] for row in loaded])
        return elements.reshape(len(rows), k.blocks, TILE).swapaxes(0, 1)

    def store_rows(
        self,
        k: gpu.BlockTracer,
        first: gpu.Lanes,
        tile: Tile,
        rows: range,
        where: gpu.Mask | None = None,
    ) -> None:
        """Store rows of a tile from shared memory."""
        column = k.tx % TILE
        for row in rows:
            k.shared(1, where)
            k.compute(ADDRESS + 1, where)
            k.store(self.m, first + row * self.n, tile[k.which, row, column], where)


def _subtract(k: gpu.BlockTracer, terms: int, own: int, sum_passes: int, where: gpu.Mask) -> None:
    """Record a sum of products: LDS sum, then per term 2 LDS, 4 instructions, STS sum.

    Args:
        k: the block.
        terms: products.
        own: passes of the load of the operand that differs between threads; the other one is
            the same for all.
        sum_passes: passes of an access to the sums.
        where: threads with a sum.
    """
    k.shared(sum_passes, where)
    for _ in range(terms):
        k.shared(own, where)
        k.shared(1, where)
        k.compute(4, where)
        k.shared(sum_passes, where)


def _divide(k: gpu.BlockTracer, passes: int, where: gpu.Mask) -> None:
    """Record the division of sums by a pivot: LDS pivot, division, STS."""
    k.shared(1, where)
    k.compute(DIVISION, where)
    k.shared(passes, where)


@gpu.kernel("lud_diagonal", registers=30, shared=4 * TILE * TILE)
def decompose_diagonal(k: gpu.BlockTracer, of: Matrix, offset: int) -> gpu.Steps:
    """Decomposes the diagonal tile: one block of 16 threads.

    16 L rows; barrier; 15 times { a column of L by the threads below, barrier, a row of U by the
    threads to the right, barrier }; S rows 1 to 15.  Columns of a tile lie in two banks.
    """
    first = offset * (of.n + 1) + k.tx
    k.compute(gpu.PROLOGUE)
    (tile,) = of.load_rows(k, first, range(TILE))
    k.barrier()
    yield
    for i in range(TILE - 1):
        below = k.tx > i
        column = gpu.strided_passes(TILE - 1 - i, TILE)
        tile[i + 1 :, i] -= tile[i + 1 :, :i] @ tile[:i, i]
        tile[i + 1 :, i] /= tile[i, i]
        _subtract(k, i, column, column, below)
        _divide(k, column, below)
        k.barrier()
        tile[i + 1, i + 1 :] -= tile[i + 1, : i + 1] @ tile[: i + 1, i + 1 :]
        _subtract(k, i + 1, 1, 1, below)
        k.barrier()
        yield
    of.store_rows(k, first, tile[None], range(1, TILE))


@gpu.kernel("lud_perimeter", registers=32, shared=3 * 4 * TILE * TILE, in_step=True)
def solve_perimeter(k: gpu.BlockTracer, of: Matrix, offset: int) -> gpu.Steps:
    """Solves a tile right of the diagonal one and one below it: a block of 32 threads for each.

    Threads 0 to 15: 8 L rows 0 to 7 of the diagonal tile, 16 L rows of the tile to the right;
    threads 16 to 31: 8 L rows 8 to 15 of the diagonal tile, 16 L rows of the tile below.  Barrier;
    both triangular solutions, barrier; S 15 rows on the right, S 16 rows below.  A warp runs the
    right half first (our choice).
    """
    right = k.tx < TILE
    below = ~right
    diagonal = offset * (of.n + 1) + k.tx % TILE
    beside = diagonal + TILE * (k.bx + 1)
    under = diagonal + TILE * (k.bx + 1) * of.n
    k.compute(gpu.PROLOGUE)
    upper = of.load_rows(k, diagonal, range(TILE // 2), right)
    row_tile = of.load_rows(k, beside, range(TILE), right)
    yield
    lower = of.load_rows(k, diagonal, range(TILE // 2, TILE), below)
    column_tile = of.load_rows(k, under, range(TILE), below)
    k.barrier()
    yield
    pivot = np.concatenate((upper[0], lower[0]))  # all blocks have the same one
    for i in range(1, TILE):
        row_tile[:, i] -= pivot[i, :i] @ row_tile[:, :i]
        _subtract(k, i, 1, 1, right)
        yield
    column = gpu.strided_passes(TILE, TILE)
    for i in range(TILE):
        column_tile[:, :, i] -= column_tile[:, :, :i] @ pivot[:i, i]
        column_tile[:, :, i] /= pivot[i, i]
        _subtract(k, i, column, column, below)
        _divide(k, column, below)
        yield
    k.barrier()
    of.store_rows(k, beside, row_tile, range(1, TILE), right)
    yield
    of.store_rows(k, under, column_tile, range(TILE), below)


@gpu.kernel("lud_internal", registers=30, shared=2 * 4 * TILE * TILE, in_step=True)
def subtract_internal(k: gpu.BlockTracer, of: Matrix, offset: int) -> gpu.Steps:
    """Subtracts the product of two solved tiles from a tile of the rest: 16 x 16 threads.

    L the element of the row tile, L that of the column tile; barrier; 16 times { 2 LDS, FMA }; L
    and S the own element.  The loop is unrolled; 38 instructions come before it.
    """
    column = offset + TILE * (k.bx + 1) + k.tx
    row = offset + TILE * (k.by + 1) + k.ty
    k.compute(38)
    above = k.load(of.m, (offset + k.ty) * of.n + column)
    left = k.load(of.m, row * of.n + offset + k.tx)
    k.wait()
    k.shared(1, times=2)
    k.barrier()
    for _ in range(TILE):
        k.shared(1, times=2)
        k.compute(1)
        yield
    product = left.reshape(-1, TILE, TILE) @ above.reshape(-1, TILE, TILE)
    own = row * of.n + column
    value = k.fetch(of.m, own)
    k.compute(1)
    k.store(of.m, own, value - product.reshape(-1))


@gpu.program("lud")
def lud(
    memory: gpu.AddressSpace,
    seed: int,
    n: int = gpu.number(256, 2 * TILE, 16384, multiple=TILE),
    steps: int | None = gpu.number(None, most=lambda n: n // TILE),
) -> gpu.Launches:
    """The factors m = L U in place; the diagonal of L is 1 and not stored.

    One array.  Elements are e^(-|i - j| / 100) plus random 0 to 1 on the diagonal (our choice: it
    needs no pivoting).

    Parameters:
        n: rows and columns, a multiple of 16 and at least 32 (the suite: 256; it also has files of
            512 and 2048).
        steps: diagonal tiles that are eliminated; None: all n / 16.
    """
    i = np.arange(n)
    decay = np.exp(np.arange(n) / np.float32(-100))
    matrix = decay[np.abs(i[:, None] - i)].astype(np.float32)
    matrix[i, i] += np.random.default_rng(seed).random(n, dtype=np.float32)
    of = Matrix(memory.allocate("m", matrix), n)
    for offset in range(0, (steps or n // TILE) * TILE, TILE):
        yield decompose_diagonal[1, TILE](of, offset)
        rest = (n - offset) // TILE - 1
        if rest:
            yield solve_perimeter[rest, 2 * TILE](of, offset)
            yield subtract_internal[(rest, rest), (TILE, TILE)](of, offset)
