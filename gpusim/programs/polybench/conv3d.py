"""3dconv: a convolution of a volume with its neighbours, plane by plane."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.polybench.grid import grid_of, row_and_column

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


@gpu.kernel("convolution3D_kernel", registers=26, in_step=True)
def convolve3d(
    k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, n: int, plane: int
) -> None:
    """An inner element of one plane a thread: eleven loads before the first use, and a store.

    36 instructions for addresses and bounds, 16 for the sum, as in PTX of nvcc 11.8 for sm_35.

    Takes `source`, `result` (n x n x n, columns fastest, then rows, then planes), `n` (planes, rows
    and columns), `plane` (the plane that is computed).
    """
    row, column = row_and_column(k)
    inner = (row > 0) & (row < n - 1) & (column > 0) & (column < n - 1)
    element = (plane * n + row) * n + column
    k.compute(36, inner)
    values = [
        np.float32(factor) * k.load(source, element + (di * n + dj) * n + dk, inner)
        for (di, dj, dk), factor in TERMS
    ]
    k.wait(0, inner)
    k.compute(16, inner)
    k.store(result, element, np.sum(values, axis=0, dtype=np.float32), inner)


@gpu.program("3dconv")
def conv3d(
    memory: gpu.AddressSpace,
    _seed: int,
    n: int = gpu.number(256, 3, 1024),
    planes: int | None = gpu.number(None, most=lambda n: n - 2),
) -> gpu.Launches:
    """A convolution of a volume: the host launches the kernel for each inner plane in turn.

    Arrays in the order A, B; A[i][j][k] = i mod 12 + 2 (j mod 7) + 3 (k mod 13).

    Parameters:
        n: planes, rows and columns (the suite: 256).
        planes: planes that are computed, from the first inner one on; a launch each.  None: all
            n - 2.
    """
    planes = planes or n - 2
    i = np.arange(n, dtype=np.float32)
    values = (i % 12)[:, None, None] + (2 * (i % 7))[:, None] + 3 * (i % 13)
    source = memory.read_only("A", values)
    result = memory.zeros("B", n * n * n, np.float32)
    for plane in range(1, planes + 1):
        yield convolve3d[grid_of(n, n)](source, result, n, plane)
