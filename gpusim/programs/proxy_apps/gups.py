"""gups: random updates of a big table (the HPC Challenge's RandomAccess)."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le, optional
from numpy.typing import NDArray

from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.parameters import multiple_of
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    DeviceArray,
    Launches,
    Steps,
    kernel,
    program,
)

BLOCK = 128
POLYNOMIAL = np.uint64(7)
"""Of the benchmark's random numbers: shift left, and add it where the top bit falls out."""
TOP = np.uint64(63)
ONE = np.uint64(1)

Longs = DeviceArray[np.uint64]


def next_numbers(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The random numbers that follow."""
    return (numbers << ONE) ^ (POLYNOMIAL * (numbers >> TOP))


@kernel("update", registers=16, block=BLOCK, in_step=True)
def update(k: BlockTracer, table: Longs, stream: Longs, updates: int) -> Steps:
    """Each thread follows a stream of random numbers and updates a word for each.

    L stream[t]; then for each update: 12 instructions (6 for the next number of 64 bits, 3 for the
    word's place, 3 for the loop), and an atomic exclusive or with table[number mod words], words a
    power of two, whose old value is not needed.  Blocks of 128 threads and atomic updates as in the
    source that the authors of MASK released; registers and instructions are our choice: the
    benchmark has no official GPU version.
    """
    mask = np.uint64(table.length - 1)
    k.compute(PROLOGUE)
    number = k.load(stream, k.t)
    k.wait()
    for _ in range(updates):
        number = next_numbers(number)
        place = (number & mask).astype(np.int64)
        k.compute(12)
        k.reduce_xor(table, place, number)
        yield


@frozen
class GupsParameters:
    """Parameters of gups.

    Attributes:
        log2_words: logarithm of the table's words of 8 bytes (our choice: 22, 32 MiB).
        threads: a multiple of 128.
        updates: of each thread; None: four for each word of the table in all, as the benchmark
            asks for.
    """

    log2_words: int = field(default=22, validator=[ge(8), le(30)])
    threads: int = field(default=65536, validator=[ge(BLOCK), multiple_of(BLOCK)])
    updates: int | None = field(default=None, validator=optional(ge(1)))


@program("gups", GupsParameters)
def gups(memory: AddressSpace, parameters: GupsParameters, seed: int) -> Launches:
    """One launch.  Arrays in the order table (word i holds i), stream."""
    words, threads = 1 << parameters.log2_words, parameters.threads
    starts = np.random.default_rng(seed).integers(1, 1 << 63, threads, dtype=np.uint64)
    table = memory.allocate("table", np.arange(words, dtype=np.uint64))
    stream = memory.allocate("stream", starts)
    yield update[threads](table, stream, parameters.updates or -(-4 * words // threads))
