"""What reduction and scan share: loops of whole thread blocks, and the sum over a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.tracer import BlockTracer, Mask

BLOCK = 256
LAST_WARP = 32
"""Threads that finish the tree, without barriers, since a warp is in step (the suite's choice)."""


def rounds(first: Any, stop: Any, step: int) -> Iterator[tuple[Any, Mask | None]]:
    """The numbers ``range(first, stop, step)`` of a block, and who has this one (None: all).

    Of blocks in step the bounds are those of each thread, and (threads,) numbers are given.
    """
    count = np.asarray(-(-(stop - first) // step))
    fewest = count.min()
    for number in range(count.max()):
        yield first + step * number, None if number < fewest else number < count


def block_sum(k: BlockTracer, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum of a block's `BLOCK` values that lie in shared memory, by a tree of halves.

    Half of the threads add what the other half has: two loads, an addition and a store, then a
    barrier; the last 32 threads do their six steps without barriers.  Rows of words: no bank
    conflicts.

    Returns:
        (threads,) the sum of each thread's block.
    """
    sums = values.reshape(k.blocks, BLOCK).copy()
    k.barrier()
    half = BLOCK // 2
    while half:
        where = k.tid < max(half, LAST_WARP)
        k.shared(1, where)
        k.shared(1, where)
        k.compute(1, where)
        k.shared(1, where)
        sums[:, :half] += sums[:, half : 2 * half]
        if half > LAST_WARP:
            k.barrier()
        half //= 2
    return np.repeat(sums[:, 0], BLOCK)
