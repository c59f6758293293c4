"""vector_add: the sum of two vectors, an element a thread."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 64
START, SUM, END = 23, 3, 1
"""Instructions before the loads, between them and the store, and after: 30 a wavefront with these,
as in MGPUSim's trace."""


@gpu.kernel("vectoradd_float", registers=8, block=BLOCK, in_step=True)
def add(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats) -> None:
    """The sum a[t] = b[t] + c[t]."""
    inside = k.t < a.length
    k.compute(START, inside)
    one, other = k.load(b, k.t, inside), k.load(c, k.t, inside)
    k.wait(0, inside)
    k.compute(SUM, inside)
    k.store(a, k.t, one + other, inside)
    k.compute(END, inside)


@gpu.program("vector_add")
def vector_add(
    memory: gpu.AddressSpace,
    _seed: int,
    width: int = gpu.number(1024, 1, 32768),
    height: int = gpu.number(1024, 1, 32768),
) -> gpu.Launches:
    """Arrays in the order A, B, C, with B[i] = i and C[i] = 100 i.

    Parameters:
        width, height: the vectors have width x height elements (MGPUSim: 1024 each).
    """
    numbers = np.arange(width * height, dtype=np.float32)
    a = memory.zeros("A", width * height, np.float32)
    b = memory.allocate("B", numbers)
    c = memory.allocate("C", numbers * 100)
    yield add[width * height](a, b, c)
