"""launches: kernels that do nothing, one after the other."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le

from gpusim.programs.writing import AddressSpace, BlockTracer, Launches, kernel, program


@kernel("empty", registers=8, in_step=True)
def do_nothing(k: BlockTracer) -> None:
    """Every thread ends with its first instruction."""
    k.compute(1)


@frozen
class LaunchesParameters:
    """How many of what.

    Attributes:
        count: launches.
        blocks, threads: of each; threads a block.
    """

    count: int = field(default=8, validator=[ge(1), le(1 << 20)])
    blocks: int = field(default=64, validator=[ge(1), le(1 << 20)])
    threads: int = field(default=256, validator=[ge(1), le(1024)])


@program("launches", LaunchesParameters)
def launches(memory: AddressSpace, parameters: LaunchesParameters, _seed: int) -> Launches:
    """Equal launches of a kernel whose threads end with their first instruction."""
    memory.zeros("nothing", 4096, np.int8)
    for _ in range(parameters.count):
        yield do_nothing[parameters.blocks, parameters.threads]()
