"""strides: a block loads from an L1 cache, with lanes as far apart as is asked for."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, in_, le
from numpy.typing import NDArray

from gpusim.programs.micro.bandwidth import WORDS
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Launches,
    Steps,
    Vectors,
    kernel,
    program,
)

OFFSETS = (0, 4, 8, 12, 20, 16, 24, 28)
"""Elements from a thread's first one to those that it loads, one after the other (gpu-strides)."""

_THREADS_APART = 64
"""Threads after which all begin at the same elements again, along a stride."""
_ROWS_APART = 32
"""Rows after which they do in a block of rows."""


@kernel("strides", registers=32)
def load_again(k: BlockTracer, array: Vectors, first: NDArray[np.int64], rounds: int) -> Steps:
    """Each thread loads the same eight elements in each round.

    Takes `array`, `first` (of each thread, its first element), `rounds`.
    """
    for _ in range(rounds):
        for offset in OFFSETS:
            k.load(array, first + offset)
        k.wait()
        yield


@frozen
class StridesParameters:
    """Which elements the threads of a block load.

    Attributes:
        word: bytes of an element.
        stride: elements from one thread's to the next one's; 64 threads have their own.
        width: threads of a row; rows are `pitch` elements apart, and the threads of one load
            neighbours.  0: there are no rows.
        pitch: elements from row to row.
        threads: of the block.
        rounds: times that each thread loads its eight elements.
    """

    word: int = field(default=4, validator=in_(WORDS))
    stride: int = field(default=1, validator=[ge(0), le(1 << 16)])
    width: int = field(default=0, validator=[ge(0), le(1024)])
    pitch: int = field(default=4098, validator=[ge(1), le(1 << 16)])
    threads: int = field(default=1024, validator=[ge(32), le(1024)])
    rounds: int = field(default=8, validator=[ge(1), le(1 << 16)])

    @property
    def first(self) -> NDArray[np.int64]:
        """(threads,) the first element that each thread loads."""
        tid = np.arange(self.threads)
        if not self.width:
            return tid % _THREADS_APART * self.stride
        x, y = tid % self.width, tid // self.width
        return x % _THREADS_APART + (y % _ROWS_APART + 1) * self.pitch


@program("strides", StridesParameters)
def strides(memory: AddressSpace, parameters: StridesParameters, _seed: int) -> Launches:
    """One launch of one block."""
    first = parameters.first
    word = np.dtype((np.void, parameters.word))
    array = memory.blank("array", int(first.max() + max(OFFSETS) + 1), word)
    yield load_again[1, parameters.threads](array, first, parameters.rounds)
