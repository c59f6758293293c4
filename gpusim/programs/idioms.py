"""What kernels of several suites have in common."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer

Place = TypeVar("Place", NDArray[np.int32], NDArray[np.int64])

FLOAT4 = np.dtype("f4,f4,f4,f4")
"""Four floats that a thread loads or stores at once: an element of 16 bytes."""

PROLOGUE = 8
"""Instructions before the first memory access where the suite's count is not known: thread number,
bound, addresses (our choice)."""


def threads_below(k: BlockTracer, count: int, instructions: int = PROLOGUE) -> Mask:
    """The threads of a one-dimensional grid whose number is below `count`, after the prologue."""
    inside: Mask = k.t < count
    k.compute(instructions, inside)
    return inside


def rounds(first: Any, stop: Any, step: int) -> Iterator[tuple[Any, Mask | None]]:
    """The numbers ``range(first, stop, step)`` of a block, and which threads have it (None: all).

    Of blocks in step the bounds are those of each thread, and (threads,) numbers are given.
    """
    count = np.asarray(-(-(stop - first) // step))
    fewest = count.min()
    for number in range(count.max()):
        yield first + step * number, None if number < fewest else number < count


def groups(count: int, size: int) -> Iterator[range]:
    """The numbers ``range(count)``, `size` at a time: a loop that is unrolled."""
    for first in range(0, count, size):
        yield range(first, min(first + size, count))


def strides(place: Place, end: Any, step: int = 1) -> Iterator[tuple[Place, Mask]]:
    """The places ``range(place, end, step)`` of each thread, and which threads have this one."""
    here: Any = place
    while (where := here < end).any():
        yield here, where
        here = here + step


def tree(k: BlockTracer, half: int, last: int = 1, alone: int = 1) -> Iterator[Mask]:
    """The threads that combine two values in shared memory in each step: `half`, then half as many.

    Each step begins with a barrier.

    Args:
        k: the block.
        half: threads of the first step.
        last: threads of the last step.
        alone: as many threads, a warp in step, do the steps of fewer, without barriers.
    """
    while half >= last:
        if half >= alone:
            k.barrier()
        yield k.tid < max(half, alone)
        half //= 2


def strided_passes(lanes: int, stride: int) -> int:
    """Passes of a shared-memory access by `lanes` lanes whose words are `stride` words apart.

    Shared memory has 32 banks, each 4 bytes wide.
    """
    return -(-lanes * gcd(stride, 32) // 32)
