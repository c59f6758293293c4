"""Products of matrices, dense and sparse, and convolution."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.writing import Unit

INTEGER, FP32 = Unit.INTEGER, Unit.FP32


@gpu.kernel("gemm_naive", registers=32)
def gemm_naive(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """An element of C a thread, sixteen loads under way, then eight products."""
    column, row = 32 * k.bx + k.tx, 8 * k.by + k.ty
    k.arithmetic(INTEGER, 20, 4)
    for first in range(0, n, 8):
        k.arithmetic(INTEGER, 13)
        for i in range(first, first + 8):
            k.load(b, i * n + column)
            k.load(a, row * n + i)
        k.wait()
        k.arithmetic(FP32, 8, 8)
        yield
    k.store(c, row * n + column, 0)


@gpu.kernel("gemm_stored", registers=24)
def gemm_stored(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """The same with two loads under way: the sum is stored each time, as arrays might overlap."""
    column, row = 32 * k.bx + k.tx, 8 * k.by + k.ty
    k.arithmetic(INTEGER, 26, 4)
    for i in range(n):
        k.load(b, i * n + column)
        k.load(a, row * n + i)
        k.wait()
        k.arithmetic(FP32, 3, 2)
        k.store(c, row * n + column, 0)
        if i % 8 == 7:
            k.arithmetic(INTEGER, 5)
        yield


@gpu.kernel("gemm_tiled_16", registers=40, shared=2048)
def gemm_tiled_16(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """Tiles of 16 in shared memory, four to a turn of the compiled loop, whose loads are ahead.

    The first two tiles of a turn are loaded together, each of the others among the products of the
    last but one.  Of A four words are a load (which all lanes of a row share), of B one.
    """
    column, row = 16 * k.bx + k.tx, 16 * k.by + k.ty

    def load(first: int) -> None:
        k.load(a, row * n + first + k.tx)
        k.load(b, (first + k.ty) * n + column)

    k.arithmetic(INTEGER, 34, 4)
    for first in range(0, n, 16):
        turn = first // 16 % 4
        if turn == 0:
            load(first)
            load(first + 16)
        k.arithmetic(INTEGER, 5 if turn == 0 else 2)
        k.wait(2 if turn < 3 else 0)
        k.shared_store(1, times=2)
        k.barrier()
        k.shared_load(2, times=3)
        k.shared_load(1, times=11)
        k.shared(1)  # is there when all before it are, whatever global loads are under way
        k.arithmetic(FP32, 4, 4)
        if turn < 2:
            load(first + 32)
        k.shared_load(2)
        k.shared_load(1, times=3)
        k.shared(1)
        k.arithmetic(FP32, 12, 12)
        k.barrier()
        yield
    k.store(c, row * n + column, 0)


@gpu.kernel("gemm_tiled_32", registers=40, shared=8192)
def gemm_tiled_32(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """The same in tiles of 32, which the compiled code loads one after the other."""
    column, row = 32 * k.bx + k.tx, 32 * k.by + k.ty
    k.arithmetic(INTEGER, 34, 4)
    for first in range(0, n, 32):
        k.load(a, row * n + first + k.tx)
        k.load(b, (first + k.ty) * n + column)
        k.arithmetic(INTEGER, 5)
        k.wait()
        k.shared_store(1, times=2)
        k.barrier()
        for step in range(8):  # two steps of four ahead
            k.shared_load(2)
            k.shared_load(1, times=4)
            if step < 2:
                continue
            k.wait(10)
            k.arithmetic(FP32, 4, 4)
        for left in (5, 0):
            k.wait(left)
            k.arithmetic(FP32, 4, 4)
        k.barrier()
        yield
    k.store(c, row * n + column, 0)


@gpu.kernel("gemm_registers", registers=128, shared=8192)
def gemm_registers(
    k: gpu.BlockTracer, a: gpu.Vectors, b: gpu.Vectors, c: gpu.Vectors, n: int
) -> gpu.Steps:
    """128 x 128 of C a block, 8 x 8 a thread, in 64 products for four loads of 16 bytes.

    Of A half a warp shares two vectors, and its tile is stored column by column, 16 rows a warp.
    """
    fours = n // 4
    t = k.tid
    row, column = 128 * k.by, 32 * k.bx
    k.arithmetic(INTEGER, 40, 4)
    for first in range(0, n, 8):
        k.load(a, (row + t // 2) * fours + first // 4 + t % 2)
        k.load(b, (first + t // 32) * fours + column + t % 32)
        k.arithmetic(INTEGER, 6)
        k.wait()
        k.shared_store(2, times=4)
        k.shared_store(4)
        k.barrier()
        _products(k)
        k.barrier()
        yield
    for m in range(8):
        place = (row + t // 16 * 4 + m % 4 + m // 4 * 64) * fours + column + t % 16
        k.store(c, place, 0)
        k.store(c, place + 16, 0)


def _products(k: gpu.BlockTracer) -> None:
    """Eight columns and rows of the tiles, loads of the next one ahead of each."""
    for step in range(9):
        if step < 8:
            k.shared_load(2, times=2)  # of A: a vector for each half of a warp
            k.shared_load(4, times=2)  # of B: 16 vectors
        if step:
            k.wait(4 if step < 8 else 0)
            k.arithmetic(FP32, 64, 1)


@gpu.kernel("gemm_row_tiles", registers=40, shared=512)
def gemm_row_tiles(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """128 x 16 of C a block, a row of 16 a thread; loads of A ahead by half of the tile."""
    row, column = 128 * k.bx + k.tid, 16 * k.by
    x, y = k.tid % 16, k.tid // 16
    k.arithmetic(INTEGER, 35, 4)
    for first in range(0, n, 8):
        k.load(b, column + x + (first + y) * n)
        for j in range(4):
            k.load(a, row + (first + j) * n)
        k.arithmetic(INTEGER, 6)
        k.wait(4)
        k.shared_store(1)
        k.barrier()
        for j in range(4):
            k.wait(3)
            k.shared(2, times=4)
            k.arithmetic(FP32, 16, 1)
            k.load(a, row + (first + 4 + j) * n)
        for left in (3, 2, 1, 0):
            k.wait(left)
            k.shared(2, times=4)
            k.arithmetic(FP32, 16, 1)
        k.arithmetic(INTEGER, 4)
        k.barrier()
        yield
    for i in range(16):
        k.store(c, row + (column + i) * n, 0)
        k.arithmetic(INTEGER, 1)


@gpu.kernel("matvec", registers=40)
def matvec(
    k: gpu.BlockTracer, a: gpu.Floats, x: gpu.Floats, y: gpu.Floats, n: int, by_row: bool
) -> gpu.Steps:
    """A row (lanes a row apart) or a column (lanes beside each other) a thread, 16 loads ahead."""
    k.arithmetic(INTEGER, 20, 4)
    for first in range(0, n, 8):
        k.arithmetic(INTEGER, 13)
        for i in range(first, first + 8):
            k.load(a, k.t * n + i if by_row else i * n + k.t)
            k.load(x, i)
        k.wait()
        k.arithmetic(FP32, 8, 8)
        yield
    k.store(y, k.t, 0)


@frozen(eq=False)
class Sparse:
    """A matrix in device memory, by rows."""

    row: gpu.Ints
    column: gpu.Ints
    value: gpu.Floats


@gpu.kernel("spmv_row", registers=40, block=256)
def spmv_row(k: gpu.BlockTracer, m: Sparse, x: gpu.Floats, y: gpu.Floats) -> gpu.Steps:
    """A row a thread."""
    k.arithmetic(INTEGER, 10, 4)
    first, last = k.load(m.row, k.t), k.load(m.row, k.t + 1)
    k.wait()
    k.arithmetic(INTEGER, 20, 4)
    yield from _entries(k, m, x, (first, last), 1)
    k.store(y, k.t, 0)


@gpu.kernel("spmv_warp", registers=40, block=256)
def spmv_warp(k: gpu.BlockTracer, m: Sparse, x: gpu.Floats, y: gpu.Floats) -> gpu.Steps:
    """A row a warp; its lanes add their sums by shuffles, which pass shared memory's ports."""
    row, lane = k.t // 32, k.tid % 32
    k.arithmetic(INTEGER, 11, 4)
    first, last = k.load(m.row, row), k.load(m.row, row + 1)
    k.wait()
    k.arithmetic(INTEGER, 20, 4)
    yield from _entries(k, m, x, (first + lane, last), 32)
    for _ in range(5):
        k.shared_load(1)
        k.wait()
        k.arithmetic(FP32, 1, 1)
    k.store(y, row, 0, lane == 0)


def _entries(
    k: gpu.BlockTracer,
    m: Sparse,
    x: gpu.Floats,
    ends: tuple[NDArray[np.int32], NDArray[np.int32]],
    step: int,
) -> gpu.Steps:
    """Entries of each thread from one place to another, `step` apart.

    First those that make no four, one at a time; then sixteen, eight or four at a time: the
    columns under way, then the values and the elements of x.
    """
    place, last = (one.astype(np.int64) for one in ends)
    left = np.maximum(-(-(last - place) // step), 0)
    size = len(m.column.data)
    for count, times in ((1, left % 4), (16, left // 16), (8, left // 8 % 2), (4, left // 4 % 2)):
        for turn in range(int(times.max(initial=0))):
            inside = times > turn
            at = [np.minimum(place + i * step, size - 1) for i in range(count)]
            column = [k.load(m.column, one, inside) for one in at]
            for one in at:
                k.load(m.value, one, inside)
            k.wait(count, inside)
            k.arithmetic(INTEGER, count, 1, inside)
            for one in column:
                k.load(x, one.astype(np.int64), inside)
            k.wait(0, inside)
            k.arithmetic(FP32, count, count, inside)
            k.arithmetic(INTEGER, 6, 0, inside)
            place = place + count * step * inside
            yield
