"""The sum over a thread block that reduction and scan share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 256
LAST_WARP = 32
"""Threads that finish the tree, without barriers, since a warp is in step (the suite's choice)."""


def block_sum(k: gpu.BlockTracer, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum of a block's `BLOCK` values that lie in shared memory, by a tree of halves.

    Half of the threads add what the other half has: two loads, an addition and a store, then a
    barrier; the last 32 threads do their six steps without barriers.  Rows of words: no bank
    conflicts.

    Returns:
        (threads,) the sum of each thread's block.
    """
    sums = values.reshape(k.blocks, BLOCK)
    for adding in gpu.tree(k, BLOCK // 2, alone=LAST_WARP):
        k.shared(1, adding, times=2)
        k.compute(1, adding)
        k.shared(1, adding)
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    return np.repeat(sums[:, 0], BLOCK)
