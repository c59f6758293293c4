"""2dconv: a 3 x 3 convolution of a matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.polybench.grid import grid_of, row_and_column
from gpusim.programs.tracer import BlockTracer

WEIGHTS = ((0.2, 0.5, -0.8), (-0.3, 0.6, -0.9), (0.4, 0.7, 0.1))
"""Factors of the neighbours above, beside and below, each from left to right."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class Convolve2d(Kernel):
    """An inner element a thread: nine loads, row by row, before the first use, and a store.

    26 instructions for addresses and bounds, 9 for the sum, as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        source, result: n x n, row-major.
        n: rows and columns.
    """

    source: Floats
    result: Floats
    n: int
    name: str = "Convolution2D_kernel"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> None:
        row, column = row_and_column(k)
        last = self.n - 1
        inner = (row > 0) & (row < last) & (column > 0) & (column < last)
        element = row * self.n + column
        k.compute(26, inner)
        values = [
            np.float32(weight) * k.load(self.source, element + di * self.n + dj, inner)
            for di, weights in enumerate(WEIGHTS, -1)
            for dj, weight in enumerate(weights, -1)
        ]
        k.wait(0, inner)
        k.compute(9, inner)
        k.store(self.result, element, np.sum(values, axis=0, dtype=np.float32), inner)


@frozen
class Conv2dParameters:
    """Size of 2dconv.

    Attributes:
        n: rows and columns (the suite: 4096).
    """

    n: int = field(default=4096, validator=[ge(3), le(32768)])


@program("2dconv", Conv2dParameters)
class Conv2d(Program):
    """A 3 x 3 convolution.  Arrays in the order A (random in 0..1), B; one launch."""

    def __init__(self, parameters: Conv2dParameters, seed: int) -> None:
        super().__init__("2dconv")
        self.n = n = parameters.n
        values = np.random.default_rng(seed).random(n * n, dtype=np.float32)
        values.flags.writeable = False
        self.source = self.memory.allocate("A", values)
        self.result = self.memory.allocate("B", np.zeros(n * n, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        shape = grid_of(self.n, self.n)
        yield Convolve2d(shape=shape, source=self.source, result=self.result, n=self.n)
