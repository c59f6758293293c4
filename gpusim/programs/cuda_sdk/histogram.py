"""histogram256: how often each byte occurs (the SDK's histogram of 256 bins)."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le

from gpusim.programs.idioms import PROLOGUE, strides, tree
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Launches,
    Steps,
    Words,
    kernel,
    program,
)

BINS = 256
WARPS = 6
"""Of a block; each has a histogram of its own in shared memory."""

BLOCK = 32 * WARPS
BLOCKS = 240
"""Blocks, each with a histogram of its own in global memory."""


@kernel("histogram256Kernel", registers=16, shared=4 * WARPS * BINS, in_step=True)
def count(k: BlockTracer, data: Words, partial: Words) -> Steps:
    """240 blocks stride through the words, four bytes each, and count in shared memory.

    8 words of shared memory are cleared; L data; 10 instructions (three shifts and four masks of
    bytes, the loop) and 4 atomic additions in shared memory, whose conflicts are left out; then the
    warps' counts of each bin are added up, 6 shared loads and additions, S partial, which has the
    BINS counts of each block.
    """
    k.compute(PROLOGUE)
    k.shared(1, times=WARPS * BINS // BLOCK)
    k.barrier()
    counts = np.zeros(k.blocks * BINS, dtype=np.uint32)
    start = np.broadcast_to(k.which * BINS, k.threads)  # of the block's counts
    for place, where in strides(k.t, data.length, BLOCKS * BLOCK):
        words = k.load(data, place, where)
        k.wait(0, where)
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


@kernel("mergeHistogram256Kernel", registers=10, shared=4 * BINS, in_step=True)
def merge(k: BlockTracer, partial: Words, total: Words) -> None:
    """A block adds up the 240 counts of a bin: L, 1 KiB apart, and a tree in shared memory; S."""
    k.compute(PROLOGUE)
    inside = k.tid < BLOCKS
    values = k.load(partial, BINS * k.tid + k.bx, inside)
    k.wait(0, inside)
    k.compute(1, inside)
    k.shared(1)
    for adding in tree(k, BINS // 2):
        k.shared(1, adding, times=3)
        k.compute(1, adding)
    counts = np.where(inside, values, np.uint32(0)).reshape(k.blocks, BINS)
    k.store(total, k.bx, counts.sum(axis=1, dtype=np.uint32).repeat(BINS), k.tid == 0)


@frozen
class HistogramParameters:
    """Size of histogram256.

    Attributes:
        words: of four bytes (the SDK: 16 Mi).
    """

    words: int = field(default=1 << 24, validator=[ge(1), le(1 << 28)])


@program("histogram256", HistogramParameters)
def histogram256(memory: AddressSpace, parameters: HistogramParameters, seed: int) -> Launches:
    """Two launches.  Arrays in the order data (random bytes), partial, histogram."""
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 1 << 32, parameters.words, dtype=np.uint32)
    data = memory.read_only("data", words)
    partial = memory.zeros("partial", BLOCKS * BINS, np.uint32)
    total = memory.zeros("histogram", BINS, np.uint32)
    yield count[BLOCKS, BLOCK](data, partial)
    yield merge[BINS, BINS](partial, total)
