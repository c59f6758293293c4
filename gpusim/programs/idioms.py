"""What the kernels of all suites begin with."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np

from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer

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
    """The numbers ``range(first, stop, step)`` of a block, and who has this one (None: all).

    Of blocks in step the bounds are those of each thread, and (threads,) numbers are given.
    """
    count = np.asarray(-(-(stop - first) // step))
    fewest = count.min()
    for number in range(count.max()):
        yield first + step * number, None if number < fewest else number < count


def strided_passes(lanes: int, stride: int) -> int:
    """Passes of a shared-memory access by `lanes` lanes whose words are `stride` words apart.

    Shared memory has 32 banks, each 4 bytes wide.
    """
    return -(-lanes * gcd(stride, 32) // 32)
