"""Kernels of which others have published rates: products of narrow matrices, a dot product.

What is loaded together, and how many instructions of each kind there are, is what NVRTC 13.5 makes
of the published sources for compute capability 7.5.
"""

from __future__ import annotations

from gpusim.programs import writing as gpu
from gpusim.programs.writing import Unit

INTEGER, FP32, FP64 = Unit.INTEGER, Unit.FP32, Unit.FP64
W = 32
"""Columns of A, rows of B, and both sides of a tile of C, in NVIDIA's examples."""


@gpu.kernel("narrow_plain", registers=64)
def narrow_plain(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """C = AB of n x 32 and 32 x n, an element a thread: all 64 loads ahead of the products."""
    row, column = W * k.by + k.ty, W * k.bx + k.tx
    k.arithmetic(INTEGER, 10, 4)
    for i in range(W):
        k.load(a, row * W + i)
        k.load(b, i * n + column)
        k.arithmetic(INTEGER, 1)
    k.wait(11)
    k.arithmetic(FP32, 7, 7)
    k.wait()
    k.arithmetic(FP32, 25, 25)
    k.store(c, row * n + column, 0)
    yield


@gpu.kernel("narrow_tile_a", registers=62, shared=4 * W * W)
def narrow_tile_a(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """A's tile in shared memory, of which a warp's lanes read the same four words at a time."""
    row, column = W * k.by + k.ty, W * k.bx + k.tx
    k.arithmetic(INTEGER, 8, 4)
    k.load(a, row * W + k.tx)
    k.arithmetic(INTEGER, 21)
    k.wait()
    k.shared_store(1)
    for i in range(W):
        k.load(b, i * n + column)
        k.arithmetic(INTEGER, 1)
    k.shared_load(2, times=8)
    k.wait()
    k.arithmetic(FP32, 32, 32)
    k.store(c, row * n + column, 0)
    yield


def _products(k: gpu.BlockTracer) -> None:
    """32 products of what lies in shared memory: of A four words are a load, of B one."""
    for _ in range(W // 4):
        k.shared_load(2)
        k.shared_load(1, times=4)
        k.wait(5)
        k.arithmetic(FP32, 4, 4)
    k.wait()


@gpu.kernel("narrow_tiles", registers=34, shared=8 * W * W)
def narrow_tiles(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int
) -> gpu.Steps:
    """Both tiles in shared memory."""
    row, column = W * k.by + k.ty, W * k.bx + k.tx
    k.arithmetic(INTEGER, 12, 4)
    k.load(a, row * W + k.tx)
    k.load(b, k.ty * n + column)
    k.arithmetic(INTEGER, 4)
    k.wait()
    k.shared_store(1, times=2)
    k.barrier()
    _products(k)
    k.store(c, row * n + column, 0)
    yield


@gpu.kernel("square_plain", registers=63)
def square_plain(k: gpu.BlockTracer, a: gpu.Floats, c: gpu.Floats, n: int) -> gpu.Steps:
    """C = A A' of n x 32: lanes read a column of A, 128 bytes apart."""
    row, column = W * k.by + k.ty, W * k.bx + k.tx
    k.arithmetic(INTEGER, 9, 4)
    for i in range(W):
        k.load(a, row * W + i)
        k.load(a, column * W + i)
    k.wait(12)
    k.arithmetic(FP32, 6, 6)
    k.wait()
    k.arithmetic(FP32, 26, 26)
    k.store(c, row * n + column, 0)
    yield


@gpu.kernel("square_tiles", registers=34, shared=lambda pitch: 4 * W * (W + pitch))
def square_tiles(k: gpu.BlockTracer, a: gpu.Floats, c: gpu.Floats, n: int, pitch: int) -> gpu.Steps:
    """Both tiles in shared memory, one of them stored column by column, which have this pitch."""
    row, column = W * k.by + k.ty, W * k.bx + k.tx
    k.arithmetic(INTEGER, 14, 4)
    k.load(a, row * W + k.tx)
    k.load(a, (W * k.bx + k.ty) * W + k.tx)
    k.arithmetic(INTEGER, 4)
    k.wait()
    k.shared_store(1)
    k.shared_store(gpu.strided_passes(32, pitch))
    k.barrier()
    _products(k)
    k.store(c, row * n + column, 0)
    yield


@gpu.kernel("dot", registers=32, shared=8192)
def dot(k: gpu.BlockTracer, a: gpu.Doubles, b: gpu.Doubles, sums: gpu.Doubles, n: int) -> gpu.Steps:
    """Two loads a turn under way, then a tree in shared memory."""
    step = k.shape.blocks * k.threads
    k.arithmetic(INTEGER, 8, 4)
    for first in range(0, n, step):
        inside = first + k.t < n
        place = first + k.t
        k.load(a, place, inside)
        k.load(b, place, inside)
        k.arithmetic(INTEGER, 4)
        k.wait()
        k.arithmetic(FP64, 1, 1)
        yield
    k.shared_store(2)
    for _ in range(10):
        k.barrier()
        k.arithmetic(INTEGER, 4)
        k.shared_load(2, times=2)
        k.wait()
        k.arithmetic(FP64, 1, 1)
        k.shared_store(2)
    k.store(sums, k.bx + 0 * k.tid, 0, k.tid == 0)


@gpu.kernel("transpose_16", registers=16)
def transpose_16(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, n: int, by_column: bool) -> None:
    """An element a thread, 16 x 16 a block: a warp's loads or stores touch 16 lines."""
    x, y = 16 * k.bx + k.tx, 16 * k.by + k.ty
    k.arithmetic(INTEGER, 9, 4)
    along, across = y * n + x, x * n + y
    k.load(a, across if by_column else along)
    k.arithmetic(INTEGER, 2)
    k.wait()
    k.store(b, along if by_column else across, 0)
