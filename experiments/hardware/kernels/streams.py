"""Kernels that stream: sums, copies, transposes, reductions, scans, stencils, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.writing import Unit

INTEGER, FP32 = Unit.INTEGER, Unit.FP32
START = 4
"""Instructions before the first load that each need the one before: number, bound, address."""


@gpu.kernel("pages", registers=64, block=1024)
def touch_pages(k: gpu.BlockTracer, arrays: Sequence[gpu.DeviceArray[Any]], page: int) -> None:
    """Each block loads a word of each page, so that its SM's TLBs know them."""
    for array in arrays:
        apart = page // array.element_bytes
        for first in range(0, array.length, apart * 1024):
            place = first + k.tid * apart
            inside = place < array.length
            k.load(array, np.where(inside, place, 0), inside)
    k.wait()


@gpu.kernel("empty", registers=16, block=256)
def empty(k: gpu.BlockTracer) -> None:
    """Nothing: a branch out."""
    k.compute(2)


@gpu.kernel("vector_add", registers=16, block=256)
def vector_add(
    k: gpu.BlockTracer,
    a: gpu.DeviceArray[Any],
    b: gpu.DeviceArray[Any],
    c: gpu.DeviceArray[Any],
) -> None:
    """An element, of 4 or 16 bytes, a thread: two loads under way."""
    k.arithmetic(INTEGER, 16, START)
    k.load(a, k.t)
    k.load(b, k.t)
    k.wait()
    k.arithmetic(FP32, max(a.element_bytes // 4, 1), 1)
    k.store(c, k.t, 0)


@gpu.kernel("copy", registers=16, block=256)
def copy(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats) -> None:
    """An element a thread."""
    k.arithmetic(INTEGER, 13, START)
    k.load(a, k.t)
    k.wait()
    k.store(b, k.t, 0)


@gpu.kernel("transpose_naive", registers=24)
def transpose_naive(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, n: int) -> None:
    """Four elements a thread, one after the other: the arrays might overlap."""
    x, y = 32 * k.bx + k.tx, 32 * k.by + k.ty
    k.arithmetic(INTEGER, 13, START)
    for i in range(0, 32, 8):
        k.load(a, (y + i) * n + x)
        k.wait()
        k.store(b, x * n + y + i, 0)
        k.arithmetic(INTEGER, 1)


@gpu.kernel("transpose_tiled", registers=32, shared=lambda pitch: 128 * pitch)
def transpose_tiled(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, n: int, pitch: int) -> None:
    """Four loads under way, a tile in shared memory, whose columns lie in one bank or in 32."""
    x, y = 32 * k.bx + k.tx, 32 * k.by + k.ty
    k.arithmetic(INTEGER, 19, START)
    for i in range(0, 32, 8):
        k.load(a, (y + i) * n + x)
    k.arithmetic(INTEGER, 11)
    k.wait()
    k.shared_store(1, times=4)
    k.barrier()
    k.shared_load(gpu.strided_passes(32, pitch), times=4)
    x, y = 32 * k.by + k.tx, 32 * k.bx + k.ty
    k.wait()
    for i in range(0, 32, 8):
        k.store(b, (y + i) * n + x, 0)


@gpu.kernel("reduction", registers=24, shared=1024)
def reduction(k: gpu.BlockTracer, a: gpu.Floats, sums: gpu.Floats, n: int) -> gpu.Steps:
    """Four loads a thread under way, then a tree in shared memory."""
    step = k.shape.blocks * 256
    k.arithmetic(INTEGER, 15, START)
    for first in range(0, n, 4 * step):
        for part in range(4):
            place = first + part * step + k.t
            k.load(a, np.minimum(place, n - 1), place < n)
        k.arithmetic(INTEGER, 9)
        k.wait()
        k.arithmetic(FP32, 4, 4)
        yield
    k.shared_store(1)
    for _ in range(8):  # threads that have nothing to add are predicated off, and pass all the same
        k.barrier()
        k.arithmetic(INTEGER, 1)
        k.shared_load(1, times=2)
        k.wait()
        k.arithmetic(FP32, 1, 1)
        k.shared_store(1)
    k.store(sums, np.full(256, k.bx), 0, k.tid == 0)


@gpu.kernel("scan_blocks", registers=16, shared=2048)
def scan_blocks(k: gpu.BlockTracer, a: gpu.Ints, b: gpu.Ints, sums: gpu.Ints) -> None:
    """Sums of 256 elements, doubling the distance in shared memory."""
    k.arithmetic(INTEGER, 10, START)
    k.load(a, k.t)
    k.arithmetic(INTEGER, 6)
    k.wait()
    k.shared_store(1)
    k.barrier()
    for _ in range(8):
        k.shared_load(1, times=2)
        k.arithmetic(INTEGER, 2)
        k.wait()
        k.arithmetic(INTEGER, 1, 1)
        k.shared_store(1)
        k.barrier()
    k.shared_load(1)
    k.wait()
    k.store(b, k.t, 0)
    last = k.tid == 255
    k.shared_load(1, last)
    k.wait(0, last)
    k.store(sums, np.full(256, k.bx), 0, last)


@gpu.kernel("scan_add", registers=16)
def scan_add(k: gpu.BlockTracer, b: gpu.Ints, sums: gpu.Ints) -> None:
    """The sum of the blocks before it, added to each element."""
    later = np.full(256, k.bx > 0)
    k.arithmetic(INTEGER, 12, START)
    k.load(b, k.t, later)
    k.load(sums, np.full(256, max(k.bx - 1, 0)), later)
    k.wait(0, later)
    k.arithmetic(INTEGER, 1, 1, later)
    k.store(b, k.t, 0, later)


@gpu.kernel("stencil", registers=24)
def stencil(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, n: int, offsets: tuple[int, ...]
) -> None:
    """A point of a grid of two or three dimensions a thread, from its neighbours, all under way."""
    flat = len(offsets) != 7
    x, y = k.bx * 32 + k.tx, k.by * 8 + k.ty
    inside = (x > 0) & (x < n - 1) & (y > 0) & (y < n - 1) & (flat or 0 < k.bz < n - 1)
    place = (k.bz * n + y) * n + x
    k.arithmetic(INTEGER, 16, START)
    k.arithmetic(INTEGER, 8, 1, inside)
    for offset in offsets:
        k.load(a, np.where(inside, place + offset, 0), inside)
    k.wait(0, inside)
    k.arithmetic(FP32, len(offsets), len(offsets), inside)
    k.store(b, np.where(inside, place, 0), 0, inside)


@gpu.kernel("histogram_shared", registers=16, shared=1024)
def histogram_shared(
    k: gpu.BlockTracer, a: gpu.Words, bins: gpu.Words, n: int, passes: int
) -> gpu.Steps:
    """A grid-stride loop, a load and an atomic in shared memory at a time; then 256 bins each."""
    step = k.shape.blocks * 256
    k.arithmetic(INTEGER, 9, START)
    k.shared_store(1)
    k.barrier()
    for first in range(0, n, step):
        place = first + k.t
        inside = place < n
        if not inside.any():
            break
        k.arithmetic(INTEGER, 3)
        k.load(a, np.minimum(place, n - 1), inside)
        k.wait(0, inside)
        k.arithmetic(INTEGER, 2, 2, inside)
        k.shared_store(passes, inside)
        yield
    k.barrier()
    k.shared_load(1)
    k.wait()
    k.reduce_add(bins, k.tid, 0)


@gpu.kernel("histogram_global", registers=16)
def histogram_global(k: gpu.BlockTracer, a: gpu.Words, bins: gpu.Words, n: int) -> gpu.Steps:
    """A grid-stride loop, a load and an atomic at a time."""
    step = k.shape.blocks * 256
    k.arithmetic(INTEGER, 13, START)
    for first in range(0, n, step):
        place = first + k.t
        inside = place < n
        if not inside.any():
            break
        value = k.load(a, np.minimum(place, n - 1), inside)
        k.wait(0, inside)
        k.arithmetic(INTEGER, 7, 3, inside)
        k.reduce_add(bins, (value & np.uint32(255)).astype(np.int64), 1, inside)
        yield
