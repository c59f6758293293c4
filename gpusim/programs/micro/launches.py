"""launches: kernels that do nothing, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape


@define(kw_only=True, eq=False)
class EmptyKernel(Kernel):
    """Every thread ends with its first instruction."""

    name: str = "empty"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
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
class Launches(Program):
    """Equal launches of `EmptyKernel`."""

    def __init__(self, parameters: LaunchesParameters, seed: int) -> None:
        del seed  # nothing is random
        super().__init__("launches")
        self._count = parameters.count
        self._shape = Shape((parameters.blocks, 1, 1), (parameters.threads, 1, 1))
        self.memory.allocate("nothing", np.zeros(4096, dtype=np.int8))

    def launches(self) -> Iterator[Launch]:
        for _ in range(self._count):
            yield EmptyKernel(shape=self._shape)
