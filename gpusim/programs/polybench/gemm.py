"""gemm: C = alpha A B + beta C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.polybench.grid import grid_of, row_and_column
from gpusim.programs.tracer import BlockTracer

UNROLL = 8
ALPHA = 32412.0
BETA = 2123.0

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class GemmKernel(Kernel):
    """An element of C a thread; no tiles.

    L c, S c (scaled), then for each k: L a[i][k] (the same for a warp), L b[k][j] (coalesced), two
    instructions, S c.  As in atax, the sum stays in a register and is stored in every iteration,
    since the pointers may alias.  The loop is unrolled eight times, with five instructions for the
    index and the branch: as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        a, b, c: n x n, row-major.
        n: rows and columns.
        iterations: products that each thread sums up.
    """

    a: Floats
    b: Floats
    c: Floats
    n: int
    iterations: int
    name: str = "gemm_kernel"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        row, column = row_and_column(k)
        inside = (row < self.n) & (column < self.n)
        element = row * self.n + column
        k.compute(PROLOGUE, inside)
        total = k.load(self.c, element, inside)
        k.wait(0, inside)
        k.compute(1, inside)
        total = total * np.float32(BETA)
        k.store(self.c, element, total, inside)
        left, right = row * self.n, column
        for number in range(self.iterations):
            a = k.load(self.a, left, inside)
            b = k.load(self.b, right, inside)
            k.wait(0, inside)
            k.compute(2, inside)
            total = total + np.float32(ALPHA) * a * b
            k.store(self.c, element, total, inside)
            left, right = left + 1, right + self.n
            if number % UNROLL == UNROLL - 1:
                k.compute(5, inside)
            yield


@frozen
class GemmParameters:
    """Size and length of gemm.

    Attributes:
        n: rows and columns of the three matrices (the suite: 512).
        iterations: products that each thread sums up; None: all n.
    """

    n: int = field(default=512, validator=[ge(1), le(16384)])
    iterations: int | None = field(default=None)

    @iterations.validator
    def _fits(self, _: object, iterations: int | None) -> None:
        if iterations is not None and not 1 <= iterations <= self.n:
            raise ValueError(f"'iterations' must be from 1 to n = {self.n}: {iterations}")


@program("gemm", GemmParameters)
class Gemm(Program):
    """C = alpha A B + beta C of square matrices.

    Arrays in the order a, b, c, with i j / n, (i j + 1) / n and (i j + 2) / n.
    """

    def __init__(self, parameters: GemmParameters, seed: int) -> None:
        super().__init__("gemm")
        self.n = n = parameters.n
        self.iterations = parameters.iterations or n
        i = np.arange(n, dtype=np.float32)
        product = np.outer(i, i)
        self.a = self.memory.allocate("a", product / np.float32(n))
        self.b = self.memory.allocate("b", (product + np.float32(1)) / np.float32(n))
        self.c = self.memory.allocate("c", (product + np.float32(2)) / np.float32(n))

    def launches(self) -> Iterator[Launch]:
        yield GemmKernel(
            shape=grid_of(self.n, self.n),
            a=self.a,
            b=self.b,
            c=self.c,
            n=self.n,
            iterations=self.iterations,
        )
