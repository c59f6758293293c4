"""gemm: C = alpha A B + beta C."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.polybench.grid import grid_of, row_and_column

UNROLL = 8
ALPHA = 32412.0
BETA = 2123.0


@gpu.kernel("gemm_kernel", registers=24, in_step=True)
def gemm_kernel(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, n: int, iterations: int
) -> gpu.Steps:
    """An element of C a thread; no tiles.

    L c, S c (scaled), then for each k: L a[i][k] (the same for a warp), L b[k][j] (coalesced), two
    instructions, S c.  As in atax, the sum stays in a register and is stored in every iteration,
    since the pointers may alias.  The loop is unrolled eight times, with five instructions for the
    index and the branch: as in PTX of nvcc 11.8 for sm_35.

    Takes `a`, `b`, `c` (n x n, row-major), `n` (rows and columns), `iterations` (products that each
    thread sums up).
    """
    row, column = row_and_column(k)
    inside = (row < n) & (column < n)
    element = row * n + column
    k.compute(gpu.PROLOGUE, inside)
    total = k.fetch(c, element, inside)
    k.arithmetic(gpu.Unit.FP32, 1, 1, inside)
    total = total * np.float32(BETA)
    k.store(c, element, total, inside)
    left, right = row * n, column
    for number in range(iterations):
        x = k.load(a, left, inside)
        y = k.load(b, right, inside)
        k.wait(0, inside)
        k.arithmetic(gpu.Unit.FP32, 2, 2, inside)
        total = total + np.float32(ALPHA) * x * y
        k.store(c, element, total, inside)
        left, right = left + 1, right + n
        if number % UNROLL == UNROLL - 1:
            k.compute(5, inside)
        yield


@gpu.program("gemm")
def gemm(
    memory: gpu.AddressSpace,
    _seed: int,
    n: int = gpu.number(512, 1, 16384),
    iterations: int | None = gpu.number(None, most="n"),
) -> gpu.Launches:
    """C = alpha A B + beta C of square matrices.

    Arrays in the order a, b, c, with i j / n, (i j + 1) / n and (i j + 2) / n.

    Parameters:
        n: rows and columns of the three matrices (the suite: 512).
        iterations: products that each thread sums up; None: all n.
    """
    iterations = iterations or n
    i = np.arange(n, dtype=np.float32)
    product = np.outer(i, i)
    a = memory.allocate("a", product / np.float32(n))
    b = memory.allocate("b", (product + np.float32(1)) / np.float32(n))
    c = memory.allocate("c", (product + np.float32(2)) / np.float32(n))
    yield gemm_kernel[grid_of(n, n)](a, b, c, n, iterations)
