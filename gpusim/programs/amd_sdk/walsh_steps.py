"""walsh_steps: a fast Walsh transform, one launch a step."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 256
START, SUM, END = 47, 3, 1
"""Instructions before the loads, between them and the stores, and after: GCN3's, as MGPUSim has
them, scalar loads and waits included."""


@gpu.kernel("fastWalshTransform", registers=9, block=BLOCK, in_step=True)
def butterfly(k: gpu.BlockTracer, array: gpu.Floats, apart: int) -> None:
    """A thread replaces two numbers, `apart` from each other, by their sum and difference."""
    inside = k.t < array.length // 2
    place = k.t % apart + k.t // apart * (2 * apart)
    k.compute(START, inside)
    one, other = k.load(array, place, inside), k.load(array, place + apart, inside)
    k.wait(0, inside)
    k.compute(SUM, inside)
    k.store(array, place, one + other, inside)
    k.store(array, place + apart, one - other, inside)
    k.compute(END, inside)


@gpu.program("walsh_steps")
def walsh_steps(
    memory: gpu.AddressSpace, seed: int, log2_length: int = gpu.number(10, 1, 28)
) -> gpu.Launches:
    """The transform of random numbers from 0 to 255, in place.

    Parameters:
        log2_length: logarithm of the numbers (MGPUSim: 1024 of them).
    """
    length = 1 << log2_length
    values = 255 * np.random.default_rng(seed).random(length, dtype=np.float32)
    array = memory.allocate("array", values)
    for step in range(log2_length):
        yield butterfly[length // 2](array, 1 << step)
