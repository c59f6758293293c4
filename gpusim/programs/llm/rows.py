"""What kernels with a thread block a row have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

WARP = 32


def over_the_block(
    k: gpu.BlockTracer, values: NDArray[np.float32], combine: Callable[..., Any]
) -> NDArray[np.float32]:
    """(threads,) the sum, or the maximum, of a block's threads.

    Five shuffles, a number a warp into shared memory, barrier, and five shuffles by the first warp,
    then the result from shared memory.
    """
    k.arithmetic(gpu.Unit.FP32, 10, 10)
    k.shared_store(1, k.tid % WARP == 0)
    k.barrier()
    first = k.tid < WARP
    k.shared_load(1, first)
    k.wait(0, first)
    k.arithmetic(gpu.Unit.FP32, 10, 10, first)
    k.shared_store(1, k.tid == 0)
    k.barrier()
    k.shared_load(1)
    k.wait()
    own = values.reshape(k.blocks, -1)
    combined: NDArray[np.float32] = np.repeat(combine(own, axis=1), own.shape[1])
    return combined
