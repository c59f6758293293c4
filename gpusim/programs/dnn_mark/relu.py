"""relu: what is negative becomes zero, an element a thread."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 64
START, COMPARE, END = 18, 6, 1
"""Instructions before the load, between it and the store, and after: GCN3's, as MGPUSim has them,
scalar loads and waits included."""


@gpu.kernel("ReLUForward", registers=5, block=BLOCK, in_step=True)
def rectify(k: gpu.BlockTracer, source: gpu.Floats, result: gpu.Floats) -> None:
    """The larger of an element and zero."""
    inside = k.t < source.length
    k.compute(START, inside)
    value = k.fetch(source, k.t, inside)
    k.compute(COMPARE, inside)
    k.store(result, k.t, np.maximum(value, np.float32(0)), inside)
    k.compute(END, inside)


@gpu.program("relu")
def relu(
    memory: gpu.AddressSpace, seed: int, length: int = gpu.number(4096, 1, 1 << 28)
) -> gpu.Launches:
    """Random elements from -1 to 1 (our choice).  Arrays in the order input, output.

    Parameters:
        length: of both (MGPUSim: 4096).
    """
    values = 2 * np.random.default_rng(seed).random(length, dtype=np.float32) - 1
    source = memory.allocate("input", values)
    result = memory.zeros("output", length, np.float32)
    yield rectify[length](source, result)
