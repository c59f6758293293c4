"""histo: a saturating histogram of a million bins, most of an image's values near one another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import rounds
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BINS = 256 * 4096
RANGE_BINS = 24576
"""Bins, of a byte each, whose counts fit a block's shared memory."""

LIMIT = 255
MAIN_BLOCKS = 14
PRESCAN_BLOCKS, PRESCAN_THREADS = 64, 512
FINAL_BLOCKS, FINAL_THREADS = 42, 512
ROWS = 16
"""Rows of the image that a block of the second kernel reads."""
WORDS = BINS // 4
MANY = 10
"""Standard deviations around the mean that shared memory shall hold."""
DEVIATION = 600.0
OUTLIERS = 2e-5
"""The image's values: normal around the middle bin, and a few anywhere (our choices)."""

Words = DeviceArray[np.uint32]


@define(kw_only=True, eq=False)
class Prescan(Kernel):
    """Which bins are common: an eighth of each 64th of the image, twice (mean, then deviation).

    L image, stride 512, coalesced, 8 instructions with its address and the loop; trees in shared
    memory; the first thread's two reductions.

    Attributes:
        pixels: (pixels,) bins.
        bounds: (2,) highest, and complement of the lowest common bin.
    """

    pixels: Words
    bounds: Words
    name: str = "histo_prescan_kernel"
    registers_per_thread: int = 24
    shared_bytes: int = 8 * PRESCAN_THREADS
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        share = self.pixels.length // PRESCAN_BLOCKS
        count = max(share // 8, 1)
        start = k.bx * share
        firsts = np.reshape(start, (k.blocks, -1))[:, :1]
        sample = self.pixels.data[firsts + np.arange(count)].astype(float)
        k.compute(16)
        for _ in range(2):
            for first in range(0, count, PRESCAN_THREADS):
                where = first + k.tid < count
                k.load(self.pixels, start + first + k.tid, where)
                k.wait(0, where)
                k.compute(8, where)
                yield
            step = PRESCAN_THREADS // 2
            while step:
                k.barrier()
                adding = k.tid < step
                k.shared(1, adding)
                k.shared(1, adding)
                k.compute(1, adding)
                step //= 2
        mean, reach = sample.mean(axis=1), MANY * sample.std(axis=1)
        high = np.minimum(mean + reach, BINS - 1).astype(np.uint32)
        low = np.maximum(mean - reach, 0).astype(np.uint32)
        for index, value in enumerate((high, BINS - 1 - low)):
            k.reduce_max(self.bounds, np.full(k.threads, index), value[k.which], k.tid == 0)


@define(kw_only=True, eq=False)
class Intermediates(Kernel):
    """The range and the place in it of every pixel: 16 rows a block, two pixels a thread.

    16 x {L.64 image, 16 instructions with two addresses and the loop, S, S half a row further}.

    Attributes:
        pairs: (pixels / 2,) two pixels of 32 bits each.
        places: (pixels,) range << 24 | place; not in the image's order.
        width, height: of the image.
    """

    pairs: DeviceArray[np.uint64]
    places: Words
    width: int
    height: int
    name: str = "histo_intermediates_kernel"
    registers_per_thread: int = 20
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        half = self.width // 2
        k.compute(10)
        first = ROWS * k.bx
        for row, where in rounds(first, np.minimum(first + ROWS, self.height), 1):
            pair = k.load(self.pairs, row * half + k.tid, where)
            k.wait(0, where)
            k.compute(16, where)
            for part, pixel in enumerate((pair & np.uint64(0xFFFFFFFF), pair >> np.uint64(32))):
                place = (pixel // RANGE_BINS << np.uint64(24)) | (pixel % RANGE_BINS)
                k.store(self.places, row * self.width + k.tid + part * half, place, where)
            yield


@define(kw_only=True, eq=False)
class Main(Kernel):
    """Counts: each row of 14 blocks reads all places and counts those of its range.

    L place (p += 14 blocks), 11 instructions with its address and the loop, atomic in shared
    memory; the first row also counts what lies in no range: L overflow, ATOM.  At the end S of the
    6144 words of counts.

    Attributes:
        places: as in `Intermediates`.
        counts: (14 * WORDS,) counts of 8 bits, four a word, of each of the 14 blocks.
        overflow: (BINS / 2,) counts of what lies in no range; two bins share a word.
        first_range, ranges: those that are counted in shared memory.
    """

    places: Words
    counts: Words
    overflow: DeviceArray[np.uint64]
    first_range: int
    ranges: int
    name: str = "histo_main_kernel"
    registers_per_thread: int = 20
    shared_bytes: int = RANGE_BINS
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        mine, words = self.first_range + k.by, RANGE_BINS // 4
        total = np.zeros(k.blocks * RANGE_BINS, dtype=np.int64)
        k.compute(10)
        for _ in range(words // self.threads_per_block):
            k.shared(1)
        k.barrier()
        place = k.t
        while (where := place < self.places.length).any():
            word = k.load(self.places, place, where)
            k.wait(0, where)
            k.compute(11, where)
            found, offset = (word >> 24).astype(np.int64), (word & 0xFFFFFF).astype(np.int64)
            here = where & (found == mine)
            k.shared(2, here)
            np.add.at(total, (k.which * RANGE_BINS + offset)[here], 1)
            outside = (found < self.first_range) | (found >= self.first_range + self.ranges)
            outside &= where & (k.by == 0)
            if outside.any():
                self._count_outside(k, found * RANGE_BINS + offset, outside)
            place = place + MAIN_BLOCKS * self.threads_per_block
            yield
        k.barrier()
        packed = np.minimum(total, LIMIT).astype(np.uint8).view(np.uint32)
        start = k.bx * WORDS + mine * words
        slot = k.tid
        while (where := (slot < words) & (mine * words + slot < WORDS)).any():
            k.shared(1, where)
            values = packed[k.which * words + np.where(where, slot, 0)]
            k.store(self.counts, start + slot, values, where)
            slot = slot + self.threads_per_block
            yield

    def _count_outside(
        self, k: BlockTracer, bins: NDArray[np.int64], where: NDArray[np.bool_]
    ) -> None:
        k.load(self.overflow, bins // 2, where)
        k.wait(0, where)
        amount = np.where(bins % 2 == 0, 1, 1 << 32).astype(np.uint64)
        k.atomic_add(self.overflow, bins // 2, amount, where)
        k.wait(0, where)


@define(kw_only=True, eq=False)
class Final(Kernel):
    """The 14 counts of each bin and its overflow, added up and cut at 255: four bins a thread.

    14 x L counts (1 MiB apart), L overflow of two pairs of bins, S of zeros there, S result.

    Attributes:
        counts, overflow: as in `Main`.
        result: (WORDS,) four bins of 8 bits a word.
    """

    counts: Words
    overflow: DeviceArray[np.uint64]
    result: Words
    name: str = "histo_final_kernel"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        word = k.t
        while (where := word < WORDS).any():
            total = np.zeros((k.threads, 4), dtype=np.int64)
            for block in range(MAIN_BLOCKS):
                total += _bytes(k.load(self.counts, word + block * WORDS, where))
            for part in (0, 1):
                pair = k.load(self.overflow, 2 * word + part, where)
                total[:, 2 * part] += (pair & np.uint64(0xFFFFFFFF)).astype(np.int64)
                total[:, 2 * part + 1] += (pair >> np.uint64(32)).astype(np.int64)
            k.wait(0, where)
            k.compute(4 * MAIN_BLOCKS, where)
            for part in (0, 1):
                k.store(self.overflow, 2 * word + part, 0, where)
            cut = np.ascontiguousarray(np.minimum(total, LIMIT).astype(np.uint8))
            k.store(self.result, word, cut.view(np.uint32).ravel(), where)
            word = word + FINAL_BLOCKS * FINAL_THREADS
            yield


def _bytes(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4)


@frozen
class HistoParameters:
    """Parameters of histo.

    Attributes:
        width, height: of the image; an even width of at most 2048 (the suite: 996 x 1040).
        repetitions: of all four kernels (the suite: 20).
    """

    width: int = field(default=996, validator=[ge(2), le(2048)])
    height: int = field(default=1040, validator=[ge(1), le(8192)])
    repetitions: int = field(default=20, validator=ge(1))

    @width.validator
    def _even(self, _: object, width: int) -> None:
        if width % 2:
            raise ValueError(f"'width' must be even: {width}")


@program("histo", HistoParameters)
class Histo(Program):
    """Four launches a repetition; the host reads the common bins after the first.

    Arrays in the order image, places, bounds, counts, overflow, result.  Registers and instruction
    counts are our choice.
    """

    def __init__(self, parameters: HistoParameters, seed: int) -> None:
        super().__init__("histo")
        self.parameters = parameters
        rng = np.random.default_rng(seed)
        size = parameters.width * parameters.height
        bins = rng.normal(BINS / 2, DEVIATION, size).clip(0, BINS - 1).astype(np.uint32)
        odd = rng.random(size) < OUTLIERS
        bins[odd] = rng.integers(0, BINS, int(odd.sum()), dtype=np.uint32)
        self.pixels = self.memory.allocate("image", bins)
        self.pairs = DeviceArray(
            "image", self.pixels.data.view(np.uint64), self.pixels.base, 8, size // 2
        )
        self.places = self.memory.allocate("places", np.zeros(size, dtype=np.uint32))
        self.bounds = self.memory.allocate("bounds", np.zeros(2, dtype=np.uint32))
        self.counts = self.memory.allocate("counts", np.zeros(MAIN_BLOCKS * WORDS, np.uint32))
        self.overflow = self.memory.allocate("overflow", np.zeros(BINS // 2, np.uint64))
        self.result = self.memory.allocate("result", np.zeros(WORDS, np.uint32))

    def launches(self) -> Iterator[Launch]:
        width, height = self.parameters.width, self.parameters.height
        for _ in range(self.parameters.repetitions):
            self.bounds.data[:] = 0
            shape = Shape((PRESCAN_BLOCKS, 1, 1), (PRESCAN_THREADS, 1, 1))
            yield Prescan(shape=shape, pixels=self.pixels, bounds=self.bounds)
            high, low = int(self.bounds.data[0]), BINS - 1 - int(self.bounds.data[1])
            first, last = low // RANGE_BINS, high // RANGE_BINS
            shape = Shape((-(-height // ROWS), 1, 1), (width // 2, 1, 1))
            yield Intermediates(
                shape=shape, pairs=self.pairs, places=self.places, width=width, height=height
            )
            ranges = last - first + 1
            threads = {1: 512, 2: 768}.get(ranges, 1024)
            self.counts.data[:] = 0
            yield Main(
                shape=Shape((MAIN_BLOCKS, ranges, 1), (threads, 1, 1)),
                places=self.places,
                counts=self.counts,
                overflow=self.overflow,
                first_range=first,
                ranges=ranges,
            )
            yield Final(
                shape=Shape((FINAL_BLOCKS, 1, 1), (FINAL_THREADS, 1, 1)),
                counts=self.counts,
                overflow=self.overflow,
                result=self.result,
            )
