"""gups: random updates of a big table (the HPC Challenge's RandomAccess)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 128
POLYNOMIAL = np.uint64(7)
"""Of the benchmark's random numbers: shift left, and add it where the top bit falls out."""
TOP = np.uint64(63)
ONE = np.uint64(1)

Longs = gpu.DeviceArray[np.uint64]


def next_numbers(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The random numbers that follow."""
    return (numbers << ONE) ^ (POLYNOMIAL * (numbers >> TOP))


@gpu.kernel("update", registers=16, block=BLOCK, in_step=True)
def update(k: gpu.BlockTracer, table: Longs, stream: Longs, updates: int) -> gpu.Steps:
    """Each thread follows a stream of random numbers and updates a word for each.

    L stream[t]; then for each update: 12 instructions (6 for the next number of 64 bits, 3 for the
    word's place, 3 for the loop), and an atomic exclusive or with table[number mod words], words a
    power of two, whose old value is not needed.  Blocks of 128 threads and atomic updates as in the
    source that the authors of MASK released; registers and instructions are our choice: the
    benchmark has no official GPU version.
    """
    mask = np.uint64(table.length - 1)
    k.compute(gpu.PROLOGUE)
    number = k.fetch(stream, k.t)
    for _ in range(updates):
        number = next_numbers(number)
        place = (number & mask).astype(np.int64)
        k.compute(12)
        k.reduce_xor(table, place, number)
        yield


@gpu.program("gups")
def gups(
    memory: gpu.AddressSpace,
    seed: int,
    log2_words: int = gpu.number(22, 8, 30),
    threads: int = gpu.number(65536, BLOCK, multiple=BLOCK),
    updates: int | None = gpu.number(None),
) -> gpu.Launches:
    """One launch.  Arrays in the order table (word i holds i), stream.

    Parameters:
        log2_words: logarithm of the table's words of 8 bytes (our choice: 22, 32 MiB).
        threads: a multiple of 128.
        updates: of each thread; None: four for each word of the table in all, as the benchmark
            asks for.
    """
    words = 1 << log2_words
    starts = np.random.default_rng(seed).integers(1, 1 << 63, threads, dtype=np.uint64)
    table = memory.allocate("table", np.arange(words, dtype=np.uint64))
    stream = memory.allocate("stream", starts)
    yield update[threads](table, stream, updates or -(-4 * words // threads))
