"""histogram256: how often each byte occurs (the SDK's histogram of 256 bins)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BINS = 256
WARPS = 6
"""Of a block; each has a histogram of its own in shared memory."""

BLOCK = 32 * WARPS
BLOCKS = 240
"""Blocks, each with a histogram of its own in global memory."""

Words = DeviceArray[np.uint32]


@define(kw_only=True, eq=False)
class Histogram(Kernel):
    """240 blocks stride through the words, four bytes each, and count in shared memory.

    8 words of shared memory are cleared; L data; 10 instructions (three shifts and four masks of
    bytes, the loop) and 4 atomic additions in shared memory, whose conflicts are left out; then the
    warps' counts of each bin are added up, 6 shared loads and additions, S partial.

    Attributes:
        data: words.
        partial: (BLOCKS * BINS,) the blocks' histograms.
    """

    data: Words
    partial: Words
    name: str = "histogram256Kernel"
    registers_per_thread: int = 16
    shared_bytes: int = 4 * WARPS * BINS
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        for _ in range(WARPS * BINS // BLOCK):
            k.shared(1)
        k.barrier()
        counts = np.zeros(k.blocks * BINS, dtype=np.uint32)
        start = np.broadcast_to(k.which * BINS, k.threads)  # of the block's counts
        place = k.t
        while (where := place < self.data.length).any():
            words = k.load(self.data, place, where)
            k.wait(0, where)
            k.compute(10, where)
            for _ in range(4):
                k.shared(1, where)
            bins = start[where].repeat(4) + words[where].view(np.uint8)
            counts += np.bincount(bins, minlength=len(counts)).astype(np.uint32)
            place = place + BLOCKS * BLOCK
            yield
        k.barrier()
        for first in range(0, BINS, BLOCK):
            own = first + k.tid
            inside = own < BINS
            for _ in range(WARPS):
                k.shared(1, inside)
            k.compute(WARPS, inside)
            values = counts[start + np.where(inside, own, 0)]
            k.store(self.partial, BINS * k.bx + own, values, inside)
        yield


@define(kw_only=True, eq=False)
class Merge(Kernel):
    """A block adds up the 240 counts of a bin: L, 1 KiB apart, and a tree in shared memory; S.

    Attributes:
        partial: as in `Histogram`.
        total: (BINS,) the histogram.
    """

    partial: Words
    total: Words
    name: str = "mergeHistogram256Kernel"
    registers_per_thread: int = 10
    shared_bytes: int = 4 * BINS
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.compute(PROLOGUE)
        inside = k.tid < BLOCKS
        values = k.load(self.partial, BINS * k.tid + k.bx, inside)
        k.wait(0, inside)
        k.compute(1, inside)
        k.shared(1)
        step = BINS // 2
        while step:
            k.barrier()
            adding = k.tid < step
            for _ in range(3):
                k.shared(1, adding)
            k.compute(1, adding)
            step //= 2
        counts = np.where(inside, values, np.uint32(0)).reshape(k.blocks, BINS)
        total = counts.sum(axis=1, dtype=np.uint32)
        k.store(self.total, k.bx, total.repeat(BINS), k.tid == 0)


@frozen
class HistogramParameters:
    """Size of histogram256.

    Attributes:
        words: of four bytes (the SDK: 16 Mi).
    """

    words: int = field(default=1 << 24, validator=[ge(1), le(1 << 28)])


@program("histogram256", HistogramParameters)
class Histogram256(Program):
    """Two launches.  Arrays in the order data (random bytes), partial, histogram."""

    def __init__(self, parameters: HistogramParameters, seed: int) -> None:
        super().__init__("histogram256")
        generator = np.random.default_rng(seed)
        data = generator.integers(0, 1 << 32, parameters.words, dtype=np.uint32)
        data.flags.writeable = False
        self.data = self.memory.allocate("data", data)
        self.partial = self.memory.allocate("partial", np.zeros(BLOCKS * BINS, dtype=np.uint32))
        self.total = self.memory.allocate("histogram", np.zeros(BINS, dtype=np.uint32))

    def launches(self) -> Iterator[Launch]:
        yield Histogram(
            shape=Shape((BLOCKS, 1, 1), (BLOCK, 1, 1)), data=self.data, partial=self.partial
        )
        yield Merge(shape=Shape((BINS, 1, 1), (BINS, 1, 1)), partial=self.partial, total=self.total)
