"""Kernels whose addresses come from data: gathers, random updates, a level of a search."""

from __future__ import annotations

import numpy as np

from experiments.hardware.kernels.inputs import mixed
from gpusim.programs import writing as gpu
from gpusim.programs.writing import Unit

INTEGER = Unit.INTEGER


@gpu.kernel("gather", registers=16, block=256)
def gather(k: gpu.BlockTracer, index: gpu.Ints, table: gpu.Floats, out: gpu.Floats) -> None:
    """A word of a table a thread, where an index says."""
    k.arithmetic(INTEGER, 12, 4)
    where = k.load(index, k.t)
    k.wait()
    k.arithmetic(INTEGER, 1, 1)
    k.load(table, where.astype(np.int64))
    k.wait()
    k.arithmetic(INTEGER, 1)
    k.store(out, k.t, 0)


@gpu.kernel("gups", registers=16, block=256)
def gups(k: gpu.BlockTracer, table: gpu.Longs, size: int, updates: int) -> gpu.Steps:
    """Updates of random words, one after the other: a load, and a store of what it brought."""
    k.arithmetic(INTEGER, 22, 10)
    x = mixed(k.t)
    for number in range(updates):
        x = mixed(x.astype(np.int64) + number)
        place = x.astype(np.int64) & (size - 1)
        k.arithmetic(INTEGER, 11, 8)
        k.load(table, place)
        k.wait()
        k.arithmetic(INTEGER, 2, 1)
        k.store(table, place, 0)
        yield


@gpu.kernel("bfs_level", registers=16, block=256)
def bfs_level(
    k: gpu.BlockTracer, row: gpu.Ints, column: gpu.Ints, level: gpu.Ints, now: int
) -> gpu.Steps:
    """A vertex a thread; those of this level mark their neighbours of none, one after the other."""
    k.arithmetic(INTEGER, 12, 4)
    here = k.load(level, k.t) == now
    k.wait()
    k.arithmetic(INTEGER, 1, 1)
    if not here.any():
        return
    k.arithmetic(INTEGER, 4, 2, here)
    first, last = k.load(row, k.t, here), k.load(row, k.t + 1, here)
    k.wait(0, here)
    k.arithmetic(INTEGER, 5, 2, here)
    last = np.where(here, last, first)
    for turn in range(int((last - first).max())):
        inside = first + turn < last
        neighbour = k.load(column, np.where(inside, first + turn, 0), inside)
        k.wait(0, inside)
        k.arithmetic(INTEGER, 1, 1, inside)
        place = np.where(inside, neighbour, 0).astype(np.int64)
        seen = k.load(level, place, inside)
        k.wait(0, inside)
        k.arithmetic(INTEGER, 4, 2, inside)
        new = inside & (seen < 0)
        if new.any():
            k.arithmetic(INTEGER, 1, 0, new)
            k.store(level, place, now + 1, new)
            k.load(row, k.t + 1, new)  # the bound, which might have been overwritten
            k.wait(0, new)
        k.arithmetic(INTEGER, 3, 0, inside)
        yield


@gpu.kernel("mixture", registers=24)
def mixture(k: gpu.BlockTracer, array: gpu.Words, percent: int, rounds: int) -> gpu.Steps:
    """Four lanes of a warp load at random, one load after the other, and store there as often."""
    lanes = k.tid % 32 < 4
    for number in range(rounds):
        x = mixed(k.t * 64 + number)
        place = x.astype(np.int64) & (array.length - 1)
        k.arithmetic(INTEGER, 26, 26)
        k.load(array, place, lanes)
        k.wait(0, lanes)
        storing = lanes & (mixed(x.astype(np.int64) + 1) % np.uint32(100) < percent)
        if storing.any():
            k.store(array, place, 0, storing)
        yield
