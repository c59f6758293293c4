"""gups: random updates of a big table (the HPC Challenge's RandomAccess)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 128
POLYNOMIAL = np.uint64(7)
"""Of the benchmark's random numbers: shift left, and add it where the top bit falls out."""
TOP = np.uint64(63)
ONE = np.uint64(1)


def next_numbers(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The random numbers that follow."""
    return (numbers << ONE) ^ (POLYNOMIAL * (numbers >> TOP))


@define(kw_only=True, eq=False)
class Update(Kernel):
    """Each thread follows a stream of random numbers and updates a word for each.

    L stream[t]; then for each update: 12 instructions (6 for the next number of 64 bits, 3 for the
    word's place, 3 for the loop), and an atomic exclusive or with table[number mod words], whose
    old value nobody needs.  Blocks of 128 threads and atomic updates as in the source that the
    authors of MASK released; registers and instructions are our choice: the benchmark has no
    official GPU version.

    Attributes:
        table: (words,) of 8 bytes; `words` is a power of two.
        stream: (threads,) where each thread's random numbers begin.
        updates: of each thread.
    """

    table: DeviceArray[np.uint64]
    stream: DeviceArray[np.uint64]
    updates: int
    name: str = "update"
    registers_per_thread: int = 16
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        mask = np.uint64(self.table.length - 1)
        k.compute(PROLOGUE)
        number = k.load(self.stream, k.t)
        k.wait()
        for _ in range(self.updates):
            number = next_numbers(number)
            place = (number & mask).astype(np.int64)
            k.compute(12)
            k.reduce_xor(self.table, place, number)
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
    threads: int = field(default=65536, validator=ge(BLOCK))
    updates: int | None = field(default=None)

    @threads.validator
    def _whole_blocks(self, _: object, threads: int) -> None:
        if threads % BLOCK:
            raise ValueError(f"'threads' must be a multiple of {BLOCK}: {threads}")

    @updates.validator
    def _some(self, _: object, updates: int | None) -> None:
        if updates is not None and updates < 1:
            raise ValueError(f"'updates' must be >= 1: {updates}")


@program("gups", GupsParameters)
class Gups(Program):
    """One launch.  Arrays in the order table (word i holds i), stream."""

    def __init__(self, parameters: GupsParameters, seed: int) -> None:
        super().__init__("gups")
        words = 1 << parameters.log2_words
        self.threads = parameters.threads
        self.updates = parameters.updates or -(-4 * words // self.threads)
        rng = np.random.default_rng(seed)
        starts = rng.integers(1, 1 << 63, self.threads, dtype=np.uint64)
        self.table = self.memory.allocate("table", np.arange(words, dtype=np.uint64))
        self.stream = self.memory.allocate("stream", starts)

    def launches(self) -> Iterator[Launch]:
        yield Update(
            shape=Shape.linear(self.threads, BLOCK),
            table=self.table,
            stream=self.stream,
            updates=self.updates,
        )
