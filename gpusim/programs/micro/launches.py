"""launches: kernels that do nothing, one after the other."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu


@gpu.kernel("empty", registers=8, in_step=True)
def do_nothing(k: gpu.BlockTracer) -> None:
    """Every thread ends with its first instruction."""
    k.compute(1)


@gpu.program("launches")
def launches(
    memory: gpu.AddressSpace,
    _seed: int,
    count: int = gpu.number(8, 1, 1 << 20),
    blocks: int = gpu.number(64, 1, 1 << 20),
    threads: int = gpu.number(256, 1, 1024),
) -> gpu.Launches:
    """Equal launches of a kernel whose threads end with their first instruction.

    Parameters:
        count: launches.
        blocks, threads: of each; threads a block.
    """
    memory.zeros("nothing", 4096, np.int8)
    for _ in range(count):
        yield do_nothing[blocks, threads]()
