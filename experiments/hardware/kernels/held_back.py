"""Kernels of `experiments/hardware/cuda/held_back.cu`, simulated before they were measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.writing import Unit

INTEGER, FP32, SPECIAL = Unit.INTEGER, Unit.FP32, Unit.SPECIAL


def _over_warp(k: gpu.BlockTracer, unit: Unit, values: int = 1) -> None:
    """One number of a warp's lanes by five rounds of shuffles, or several side by side."""
    for _ in range(5):
        k.shared_load(1, times=values)
        k.wait()
        k.arithmetic(unit, values, 1)


def _over_block(k: gpu.BlockTracer, unit: Unit) -> None:
    """One number of eight warps: each stores its own, all load the eight."""
    k.shared_store(1, k.tid % 32 == 0)
    k.barrier()
    k.shared_load(2, times=2)
    k.wait()
    k.arithmetic(unit, 7, 7)


@gpu.kernel("softmax", registers=24, shared=32)
def softmax(k: gpu.BlockTracer, a: gpu.Vectors, b: gpu.Vectors) -> None:
    """A row of 1024 a block of 256 threads, four elements a thread."""
    k.arithmetic(INTEGER, 9, 4)
    k.load(a, k.t)
    k.arithmetic(INTEGER, 9)
    k.wait()
    k.arithmetic(INTEGER, 3, 2)
    _over_warp(k, INTEGER)
    _over_block(k, INTEGER)
    k.arithmetic(FP32, 12, 2)
    k.arithmetic(SPECIAL, 4, 1)
    k.arithmetic(FP32, 7, 3)
    _over_warp(k, FP32)
    k.barrier()
    _over_block(k, FP32)
    k.arithmetic(SPECIAL, 1, 1)
    k.arithmetic(INTEGER, 6, 1)
    k.arithmetic(FP32, 8, 2)
    k.store(b, k.t, 0)


@gpu.kernel("layer_norm", registers=40)
def layer_norm(k: gpu.BlockTracer, a: gpu.Vectors, weight: gpu.Vectors, b: gpu.Vectors) -> None:
    """A row of 512 a warp, sixteen elements a lane under way."""
    lane, first = k.tid % 32, (k.t // 32) * 128 + k.tid % 32
    k.arithmetic(INTEGER, 14, 4)
    for i in range(4):
        k.load(a, first + 32 * i)
    k.wait()
    k.arithmetic(FP32, 32, 16)
    _over_warp(k, FP32, 2)
    k.arithmetic(FP32, 4, 3)
    k.arithmetic(SPECIAL, 1, 1)
    for i in range(4):
        k.load(weight, lane + 32 * i)
    k.arithmetic(FP32, 32, 2)
    k.wait()
    for i in range(4):
        k.arithmetic(FP32, 4, 1)
        k.store(b, first + 32 * i, 0)


@gpu.kernel("stencil_planes", registers=32, shared=1360)
def stencil_planes(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, n: int, planes: int
) -> gpu.Steps:
    """From plane to plane of a cube: one in shared memory, the next one's loads under way."""
    pitch = n + 2
    place = (k.bz * planes + 1) * pitch * pitch + (k.by * 8 + k.ty + 1) * pitch
    place = place + k.bx * 32 + k.tx + 1
    top, bottom = k.ty == 0, k.ty == 7
    ends = top | bottom

    def loads() -> None:
        k.load(a, place + pitch * pitch)
        k.load(a, place - 1, k.tx == 0)
        k.load(a, place + 1, k.tx == 31)
        k.load(a, place - pitch, top)
        k.load(a, place + pitch, bottom)

    k.arithmetic(INTEGER, 60, 8)
    k.load(a, place - pitch * pitch)
    k.load(a, place)
    loads()
    for i in range(planes):
        k.arithmetic(INTEGER, 24)
        k.wait()
        k.shared_store(1)
        for where in (k.tx == 0, k.tx == 31, top, bottom):
            k.shared_store(1, where)
        k.barrier()
        k.shared_load(1, times=4)
        here, place = place, place + pitch * pitch
        if i < planes - 1:
            loads()
            k.wait(4, ends)
            k.wait(3, ~ends)
        else:
            k.wait()
        k.arithmetic(FP32, 7, 5)
        k.store(b, here, 0)
        k.barrier()
        yield


@gpu.kernel("bitonic_blocks", registers=32, shared=4096)
def bitonic_blocks(k: gpu.BlockTracer, words: gpu.Words) -> gpu.Steps:
    """1024 words a block of 512 threads; below 32 words apart two lanes meet in each bank."""
    first = 1024 * k.bx + k.tid
    k.arithmetic(INTEGER, 12, 4)
    k.load(words, first)
    k.load(words, first + 512)
    k.wait()
    k.shared_store(1, times=2)
    k.barrier()
    for size in range(1, 11):
        for apart in reversed(range(size)):
            passes = 1 if apart >= 5 else 2
            times = 2 if apart else 1  # two words beside each other are one load
            k.shared_load(passes, times=times)
            k.arithmetic(INTEGER, 2)
            k.wait()
            k.arithmetic(INTEGER, 1, 1)
            k.shared_store(passes, times=times)
            k.barrier()
        yield
    k.shared_load(1, times=2)
    k.wait()
    k.store(words, first, 0)
    k.store(words, first + 512, 0)


@gpu.kernel("merge", registers=18, block=256)
def merge(k: gpu.BlockTracer, a: gpu.Words, b: gpu.Words, out: gpu.Words, n: int) -> gpu.Steps:
    """Two sorted arrays of n words become one, 8 a thread, behind a search by halves."""
    place = 8 * k.t
    low, high = np.maximum(0, place - n), np.minimum(place, n)
    k.arithmetic(INTEGER, 12, 4)
    while (inside := low < high).any():
        middle = np.where(inside, (low + high) // 2, 0)
        k.arithmetic(INTEGER, 7, 3, inside)
        x = k.load(a, middle, inside)
        y = k.load(b, np.where(inside, place - 1 - middle, 0), inside)
        k.wait(0, inside)
        k.arithmetic(INTEGER, 4, 2, inside)
        right = x <= y
        low = np.where(inside & right, middle + 1, low)
        high = np.where(inside & ~right, middle, high)
        yield
    ends = [low, place - low]
    heads: list[NDArray[np.int64]] = [
        _head(k, array, end, n) for array, end in zip((a, b), ends, strict=True)
    ]
    k.arithmetic(INTEGER, 12, 3)
    for step in range(8):
        k.wait()
        k.arithmetic(INTEGER, 2, 1)
        left = heads[0] <= heads[1]
        for side, (array, mine) in enumerate(((a, left), (b, ~left))):
            if not mine.any():
                continue
            k.arithmetic(INTEGER, 5, 1, mine)
            k.store(out, place + step, heads[side].astype(np.uint32), mine)
            ends[side] = ends[side] + mine
            if step < 7:
                heads[side] = np.where(mine, _head(k, array, ends[side], n, mine), heads[side])
        yield


def _head(
    k: gpu.BlockTracer, array: gpu.Words, place: gpu.Lanes, n: int, where: gpu.Mask | None = None
) -> NDArray[np.int64]:
    """The next word of each thread; beyond the end the largest number."""
    inside = (place < n) if where is None else where & (place < n)
    value = k.load(array, np.where(inside, place, 0), inside)
    return np.where(inside, value.astype(np.int64), 0xFFFFFFFF)


@gpu.kernel("embedding_bag", registers=32, block=256)
def embedding_bag(k: gpu.BlockTracer, index: gpu.Ints, table: gpu.Floats, out: gpu.Floats) -> None:
    """A bag of 16 rows of 32 floats a warp, a column a lane: all indices, then all rows."""
    lane, first = k.t % 32, k.t // 32 * 16
    k.arithmetic(INTEGER, 14, 4)
    rows = [k.load(index, first + i) for i in range(16)]
    for row in rows:
        k.wait(15)
        k.arithmetic(INTEGER, 3, 2)
        k.load(table, row.astype(np.int64) * 32 + lane)
    k.wait()
    k.arithmetic(FP32, 16, 16)
    k.store(out, k.t, 0)


@gpu.kernel("kmeans", registers=40, shared=512)
def kmeans(
    k: gpu.BlockTracer, points: gpu.Floats, centres: gpu.Vectors, nearest: gpu.Ints, n: int
) -> None:
    """The nearest of 16 centres of 8 features, whose two vectors all lanes share."""
    k.arithmetic(INTEGER, 18, 4)
    k.load(centres, np.minimum(k.tid, 31), k.tid < 32)
    for feature in range(8):
        k.load(points, feature * n + k.t)
    k.wait(8, k.tid < 32)
    k.shared_store(1, k.tid < 32)
    k.barrier()
    k.shared_load(2, times=2)
    for centre in range(16):
        if centre < 15:
            k.shared_load(2, times=2)
        k.wait(2 if centre < 15 else 0)
        k.arithmetic(FP32, 16, 9)
        k.arithmetic(INTEGER, 3, 1)
    k.store(nearest, k.t, 0)


@gpu.kernel("black_scholes", registers=24, block=256)
def black_scholes(
    k: gpu.BlockTracer,
    price: gpu.Floats,
    strike: gpu.Floats,
    years: gpu.Floats,
    call: gpu.Floats,
    put: gpu.Floats,
) -> None:
    """A call and a put option a thread: ten transcendental functions, most of them in a chain."""
    k.arithmetic(INTEGER, 12, 4)
    for array in (price, strike, years):
        k.load(array, k.t)
    k.wait()
    for _ in range(5):
        k.arithmetic(INTEGER, 5, 1)
        k.arithmetic(SPECIAL, 2, 1)
        k.arithmetic(FP32, 13, 5)
    k.store(call, k.t, 0)
    k.store(put, k.t, 0)


@gpu.kernel("nbody", registers=32, shared=4096)
def nbody(k: gpu.BlockTracer, bodies: gpu.Vectors, forces: gpu.Vectors, n: int) -> gpu.Steps:
    """A body a thread, 256 others in shared memory at a time, eight loads of them under way."""
    k.arithmetic(INTEGER, 10, 4)
    k.load(bodies, k.t)
    for first in range(0, n, 256):
        k.load(bodies, first + k.tid)
        k.arithmetic(INTEGER, 4)
        k.wait()
        k.shared_store(4)
        k.barrier()
        for _ in range(32):
            k.shared_load(2, times=8)
            k.wait()
            k.arithmetic(FP32, 64, 6)
            k.arithmetic(INTEGER, 10)
            k.arithmetic(SPECIAL, 8, 1)
            k.arithmetic(FP32, 56, 10)
        k.barrier()
        yield
    k.store(forces, k.t, 0)
