"""2dconv: a 3 x 3 convolution of a matrix."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.polybench.grid import grid_of, row_and_column

WEIGHTS = ((0.2, 0.5, -0.8), (-0.3, 0.6, -0.9), (0.4, 0.7, 0.1))
"""Factors of the neighbours above, beside and below, each from left to right."""


@gpu.kernel("Convolution2D_kernel", registers=24, in_step=True)
def convolve2d(k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats, n: int) -> None:
    """An inner element a thread: nine loads, row by row, before the first use, and a store.

    26 instructions for addresses and bounds, 9 for the sum, as in PTX of nvcc 11.8 for sm_35.

    Takes `source`, `result` (n x n, row-major), `n` (rows and columns).
    """
    row, column = row_and_column(k)
    last = n - 1
    inner = (row > 0) & (row < last) & (column > 0) & (column < last)
    element = row * n + column
    k.compute(26, inner)
    values = [
        np.float32(weight) * k.load(source, element + di * n + dj, inner)
        for di, weights in enumerate(WEIGHTS, -1)
        for dj, weight in enumerate(weights, -1)
    ]
    k.wait(0, inner)
    k.compute(9, inner)
    k.store(result, element, np.sum(values, axis=0, dtype=np.float32), inner)


@gpu.program("2dconv")
def conv2d(
    memory: gpu.AddressSpace, seed: int, n: int = gpu.number(4096, 3, 32768)
) -> gpu.Launches:
    """A 3 x 3 convolution.  Arrays in the order A (random in 0..1), B; one launch.

    Parameters:
        n: rows and columns (the suite: 4096).
    """
    values = np.random.default_rng(seed).random(n * n, dtype=np.float32)
    source = memory.read_only("A", values)
    result = memory.zeros("B", n * n, np.float32)
    yield convolve2d[grid_of(n, n)](source, result, n)
