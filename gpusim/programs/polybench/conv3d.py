"""3dconv: a convolution of a volume with its neighbours, plane by plane."""

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

TERMS = (
    ((-1, -1, -1), 2 + 5 - 8),
    ((1, -1, -1), 4 + 7 + 10),
    ((0, -1, 0), -3),
    ((0, 0, 0), 6),
    ((0, 1, 0), -9),
    ((-1, -1, 1), 2),
    ((1, -1, 1), 4),
    ((-1, 0, 1), 5),
    ((1, 0, 1), 7),
    ((-1, 1, 1), -8),
    ((1, 1, 1), 10),
)
"""(plane, row, column) offsets and factors: 11 loads for the suite's 15 terms, some of which name
the same element."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class Convolve3d(Kernel):
    """An inner element of one plane a thread: eleven loads before the first use, and a store.

    36 instructions for addresses and bounds, 16 for the sum, as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        source, result: n x n x n, columns fastest, then rows, then planes.
        n: planes, rows and columns.
        plane: the plane that is computed.
    """

    source: Floats
    result: Floats
    n: int
    plane: int
    name: str = "convolution3D_kernel"
    registers_per_thread: int = 26
    in_step = True

    def body(self, k: BlockTracer) -> None:
        n = self.n
        row, column = row_and_column(k)
        inner = (row > 0) & (row < n - 1) & (column > 0) & (column < n - 1)
        element = (self.plane * n + row) * n + column
        k.compute(36, inner)
        values = [
            np.float32(factor) * k.load(self.source, element + (di * n + dj) * n + dk, inner)
            for (di, dj, dk), factor in TERMS
        ]
        k.wait(0, inner)
        k.compute(16, inner)
        k.store(self.result, element, np.sum(values, axis=0, dtype=np.float32), inner)


@frozen
class Conv3dParameters:
    """Size and length of 3dconv.

    Attributes:
        n: planes, rows and columns (the suite: 256).
        planes: planes that are computed, from the first inner one on; a launch each.  None: all
            n - 2.
    """

    n: int = field(default=256, validator=[ge(3), le(1024)])
    planes: int | None = field(default=None)

    @planes.validator
    def _fits(self, _: object, planes: int | None) -> None:
        if planes is not None and not 1 <= planes <= self.n - 2:
            raise ValueError(f"'planes' must be from 1 to n - 2 = {self.n - 2}: {planes}")


@program("3dconv", Conv3dParameters)
class Conv3d(Program):
    """A convolution of a volume: the host launches the kernel for each inner plane in turn.

    Arrays in the order A, B; A[i][j][k] = i mod 12 + 2 (j mod 7) + 3 (k mod 13).
    """

    def __init__(self, parameters: Conv3dParameters, seed: int) -> None:
        super().__init__("3dconv")
        self.n = n = parameters.n
        self.planes = parameters.planes or n - 2
        i = np.arange(n, dtype=np.float32)
        values = (i % 12)[:, None, None] + (2 * (i % 7))[:, None] + 3 * (i % 13)
        values.flags.writeable = False
        self.source = self.memory.allocate("A", values)
        self.result = self.memory.allocate("B", np.zeros(n * n * n, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        for plane in range(1, self.planes + 1):
            yield Convolve3d(
                shape=grid_of(self.n, self.n),
                source=self.source,
                result=self.result,
                n=self.n,
                plane=plane,
            )
