"""histogram256: how often each byte occurs (the SDK's histogram of 256 bins)."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BINS = 256
WARPS = 6
"""Of a block; each has a histogram of its own in shared memory."""

BLOCK = 32 * WARPS
BLOCKS = 240
"""Blocks, each with a histogram of its own in global memory."""


@gpu.kernel("histogram256Kernel", registers=16, shared=4 * WARPS * BINS, in_step=True)
def count(k: gpu.BlockTracer, data: gpu.Words, partial: gpu.Words) -> gpu.Steps:
    """240 blocks stride through the words, four bytes each, and count in shared memory.

    8 words of shared memory are cleared; L data; 10 instructions (three shifts and four masks of
    bytes, the loop) and 4 atomic additions in shared memory, whose conflicts are left out; then the
    warps' counts of each bin are added up, 6 shared loads and additions, S partial, which has the
    BINS counts of each block.
    """
    k.compute(gpu.PROLOGUE)
    k.shared(1, times=WARPS * BINS // BLOCK)
    k.barrier()
    counts = np.zeros(k.blocks * BINS, dtype=np.uint32)
    start = np.broadcast_to(k.which * BINS, k.threads)  # of the block's counts
    for place, where in gpu.strides(k.t, data.length, BLOCKS * BLOCK):
        words = k.fetch(data, place, where)
        k.compute(10, where)
        k.shared(1, where, times=4)
        bins = start[where].repeat(4) + words[where].view(np.uint8)
        counts += np.bincount(bins, minlength=len(counts)).astype(np.uint32)
        yield
    k.barrier()
    for first in range(0, BINS, BLOCK):
        own = first + k.tid
        inside = own < BINS
        k.shared(1, inside, times=WARPS)
        k.compute(WARPS, inside)
        values = counts[start + np.where(inside, own, 0)]
        k.store(partial, BINS * k.bx + own, values, inside)
    yield


@gpu.kernel("mergeHistogram256Kernel", registers=10, shared=4 * BINS, in_step=True)
def merge(k: gpu.BlockTracer, partial: gpu.Words, total: gpu.Words) -> None:
    """A block adds up the 240 counts of a bin: L, 1 KiB apart, and a tree in shared memory; S."""
    k.compute(gpu.PROLOGUE)
    inside = k.tid < BLOCKS
    values = k.fetch(partial, BINS * k.tid + k.bx, inside)
    k.compute(1, inside)
    k.shared(1)
    for adding in gpu.tree(k, BINS // 2):
        k.shared(1, adding, times=3)
        k.compute(1, adding)
    counts = np.where(inside, values, np.uint32(0)).reshape(k.blocks, BINS)
    k.store(total, k.bx, counts.sum(axis=1, dtype=np.uint32).repeat(BINS), k.tid == 0)


@gpu.program("histogram256")
def histogram256(
    memory: gpu.AddressSpace, seed: int, words: int = gpu.number(1 << 24, 1, 1 << 28)
) -> gpu.Launches:
    """Two launches.  Arrays in the order data (random bytes), partial, histogram.

    Parameters:
        words: of four bytes (the SDK: 16 Mi).
    """
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 1 << 32, words, dtype=np.uint32)
    data = memory.read_only("data", values)
    partial = memory.zeros("partial", BLOCKS * BINS, np.uint32)
    total = memory.zeros("histogram", BINS, np.uint32)
    yield count[BLOCKS, BLOCK](data, partial)
    yield merge[BINS, BINS](partial, total)
