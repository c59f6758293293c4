"""strides: a block loads from an L1 cache, with lanes as far apart as is asked for."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.micro.bandwidth import WORDS

OFFSETS = (0, 4, 8, 12, 20, 16, 24, 28)
"""Elements from a thread's first one to those that it loads, one after the other (gpu-strides)."""

_THREADS_APART = 64
"""Threads after which all begin at the same elements again, along a stride."""
_ROWS_APART = 32
"""Rows after which they do in a block of rows."""


@gpu.kernel("strides", registers=32)
def load_again(
    k: gpu.BlockTracer, array: gpu.Vectors, first: NDArray[np.int64], rounds: int
) -> gpu.Steps:
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

    word: int = gpu.choice(4, WORDS)
    stride: int = gpu.number(1, 0, 1 << 16)
    width: int = gpu.number(0, 0, 1024)
    pitch: int = gpu.number(4098, 1, 1 << 16)
    threads: int = gpu.number(1024, 32, 1024)
    rounds: int = gpu.number(8, 1, 1 << 16)

    @property
    def first(self) -> NDArray[np.int64]:
        """(threads,) the first element that each thread loads."""
        tid = np.arange(self.threads)
        if not self.width:
            return tid % _THREADS_APART * self.stride
        x, y = tid % self.width, tid // self.width
        return x % _THREADS_APART + (y % _ROWS_APART + 1) * self.pitch


@gpu.program("strides", StridesParameters)
def strides(memory: gpu.AddressSpace, parameters: StridesParameters, _seed: int) -> gpu.Launches:
    """One launch of one block."""
    first = parameters.first
    word = np.dtype((np.void, parameters.word))
    array = memory.blank("array", int(first.max() + max(OFFSETS) + 1), word)
    yield load_again[1, parameters.threads](array, first, parameters.rounds)
