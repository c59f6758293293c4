"""The sum over a thread block that reduction and scan share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs.tracer import BlockTracer

BLOCK = 256
LAST_WARP = 32
"""Threads that finish the tree, without barriers, since a warp is in step (the suite's choice)."""


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
