"""histo: a saturating histogram of a million bins, most of an image's values near one another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

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

Pairs = gpu.DeviceArray[np.uint64]
"""Two words of 32 bits each."""


@gpu.kernel("histo_prescan_kernel", registers=24, shared=8 * PRESCAN_THREADS, in_step=True)
def find_common(k: gpu.BlockTracer, pixels: gpu.Words, bounds: gpu.Words) -> gpu.Steps:
    """Which bins are common: an eighth of each 64th of the image, twice (mean, then deviation).

    L image, stride 512, coalesced, 8 instructions with its address and the loop; trees in shared
    memory; the first thread's two reductions, of the highest common bin and of the complement of
    the lowest one.
    """
    share = pixels.length // PRESCAN_BLOCKS
    count = max(share // 8, 1)
    start = k.bx * share
    firsts = np.reshape(start, (k.blocks, -1))[:, :1]
    sample = pixels.data[firsts + np.arange(count)].astype(float)
    k.compute(16)
    for _ in range(2):
        for first in range(0, count, PRESCAN_THREADS):
            where = first + k.tid < count
            k.fetch(pixels, start + first + k.tid, where)
            k.compute(8, where)
            yield
        for adding in gpu.tree(k, PRESCAN_THREADS // 2):
            k.shared(1, adding, times=2)
            k.compute(1, adding)
    mean, reach = sample.mean(axis=1), MANY * sample.std(axis=1)
    high = np.minimum(mean + reach, BINS - 1).astype(np.uint32)
    low = np.maximum(mean - reach, 0).astype(np.uint32)
    for index, value in enumerate((high, BINS - 1 - low)):
        k.reduce_max(bounds, np.full(k.threads, index), value[k.which], k.tid == 0)


@gpu.kernel("histo_intermediates_kernel", registers=20, in_step=True)
def find_places(
    k: gpu.BlockTracer, pairs: Pairs, places: gpu.Words, width: int, height: int
) -> gpu.Steps:
    """The range and the place in it of every pixel: 16 rows a block, two pixels a thread.

    16 x {L.64 image, 16 instructions with two addresses and the loop, S, S half a row further}.
    Places are range << 24 | place, and not in the image's order.
    """
    half = width // 2
    k.compute(10)
    first = ROWS * k.bx
    for row, where in gpu.rounds(first, np.minimum(first + ROWS, height), 1):
        pair = k.fetch(pairs, row * half + k.tid, where)
        k.compute(16, where)
        for part, pixel in enumerate((pair & np.uint64(0xFFFFFFFF), pair >> np.uint64(32))):
            place = (pixel // RANGE_BINS << np.uint64(24)) | (pixel % RANGE_BINS)
            k.store(places, row * width + k.tid + part * half, place, where)
        yield


@gpu.kernel("histo_main_kernel", registers=20, shared=RANGE_BINS, in_step=True)
def count(
    k: gpu.BlockTracer, places: gpu.Words, counts: gpu.Words, overflow: Pairs, first_range: int
) -> gpu.Steps:
    """Counts: each row of 14 blocks reads all places and counts those of its range.

    L place (p += 14 blocks), 11 instructions with its address and the loop, atomic in shared
    memory; the first row also counts what lies in no range: L overflow, ATOM, two bins a word.  At
    the end S of the 6144 words of counts: of 8 bits, four a word, of each of the 14 blocks.
    """
    mine, words, threads = first_range + k.by, RANGE_BINS // 4, k.shape.threads
    total = np.zeros(k.blocks * RANGE_BINS, dtype=np.int64)
    k.compute(10)
    k.shared(1, times=words // threads)
    k.barrier()
    for place, where in gpu.strides(k.t, places.length, MAIN_BLOCKS * threads):
        word = k.fetch(places, place, where)
        k.compute(11, where)
        found, offset = (word >> 24).astype(np.int64), (word & 0xFFFFFF).astype(np.int64)
        here = where & (found == mine)
        k.shared(2, here)
        np.add.at(total, (k.which * RANGE_BINS + offset)[here], 1)
        outside = (found < first_range) | (found >= first_range + k.shape.grid[1])
        outside &= where & (k.by == 0)
        if outside.any():
            _count_outside(k, overflow, found * RANGE_BINS + offset, outside)
        yield
    k.barrier()
    packed = np.minimum(total, LIMIT).astype(np.uint8).view(np.uint32)
    start = k.bx * WORDS + mine * words
    for slot, where in gpu.strides(k.tid, np.minimum(words, WORDS - mine * words), threads):
        k.shared(1, where)
        values = packed[k.which * words + np.where(where, slot, 0)]
        k.store(counts, start + slot, values, where)
        yield


def _count_outside(k: gpu.BlockTracer, overflow: Pairs, bins: gpu.Lanes, where: gpu.Mask) -> None:
    k.fetch(overflow, bins // 2, where)
    amount = np.where(bins % 2 == 0, 1, 1 << 32).astype(np.uint64)
    k.atomic_add(overflow, bins // 2, amount, where)
    k.wait(0, where)


@gpu.kernel("histo_final_kernel", registers=24, in_step=True)
def add_up(k: gpu.BlockTracer, counts: gpu.Words, overflow: Pairs, result: gpu.Words) -> gpu.Steps:
    """The 14 counts of each bin and its overflow, added up and cut at 255: four bins a thread.

    14 x L counts (1 MiB apart), L overflow of two pairs of bins, S of zeros there, S result.
    """
    for word, where in gpu.strides(k.t, WORDS, FINAL_BLOCKS * FINAL_THREADS):
        total = np.zeros((k.threads, 4), dtype=np.int64)
        for block in range(MAIN_BLOCKS):
            total += _bytes(k.load(counts, word + block * WORDS, where))
        for part in (0, 1):
            pair = k.load(overflow, 2 * word + part, where)
            total[:, 2 * part] += (pair & np.uint64(0xFFFFFFFF)).astype(np.int64)
            total[:, 2 * part + 1] += (pair >> np.uint64(32)).astype(np.int64)
        k.wait(0, where)
        k.compute(4 * MAIN_BLOCKS, where)
        for part in (0, 1):
            k.store(overflow, 2 * word + part, 0, where)
        cut = np.ascontiguousarray(np.minimum(total, LIMIT).astype(np.uint8))
        k.store(result, word, cut.view(np.uint32).ravel(), where)
        yield


def _bytes(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(words).view(np.uint8).reshape(-1, 4)


@gpu.program("histo")
def histo(
    memory: gpu.AddressSpace,
    seed: int,
    width: int = gpu.number(996, 2, 2048, multiple=2),
    height: int = gpu.number(1040, 1, 8192),
    repetitions: int = gpu.number(20),
) -> gpu.Launches:
    """Four launches a repetition; the host reads the common bins after the first.

    Arrays in the order image, places, bounds, counts, overflow, result.  Registers and instruction
    counts are our choice.

    Parameters:
        width, height: of the image; an even width of at most 2048 (the suite: 996 x 1040).
        repetitions: of all four kernels (the suite: 20).
    """
    pixels = memory.allocate("image", _image(width * height, np.random.default_rng(seed)))
    places = memory.zeros("places", width * height, np.uint32)
    bounds = memory.zeros("bounds", 2, np.uint32)
    counts = memory.zeros("counts", MAIN_BLOCKS * WORDS, np.uint32)
    overflow = memory.zeros("overflow", BINS // 2, np.uint64)
    result = memory.zeros("result", WORDS, np.uint32)
    pairs = pixels.view(np.uint64)
    for _ in range(repetitions):
        bounds.data[:] = 0
        yield find_common[PRESCAN_BLOCKS, PRESCAN_THREADS](pixels, bounds)
        high, low = int(bounds.data[0]), BINS - 1 - int(bounds.data[1])
        yield find_places[-(-height // ROWS), width // 2](pairs, places, width, height)
        first = low // RANGE_BINS
        ranges = high // RANGE_BINS - first + 1
        threads = {1: 512, 2: 768}.get(ranges, 1024)
        counts.data[:] = 0
        yield count[(MAIN_BLOCKS, ranges), threads](places, counts, overflow, first)
        yield add_up[FINAL_BLOCKS, FINAL_THREADS](counts, overflow, result)


def _image(size: int, rng: np.random.Generator) -> NDArray[np.uint32]:
    """The bins of an image's pixels."""
    bins = rng.normal(BINS / 2, DEVIATION, size).clip(0, BINS - 1).astype(np.uint32)
    odd = rng.random(size) < OUTLIERS
    bins[odd] = rng.integers(0, BINS, int(odd.sum()), dtype=np.uint32)
    return bins
