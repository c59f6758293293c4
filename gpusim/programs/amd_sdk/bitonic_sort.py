"""bitonic_sort: a network that sorts numbers, one launch a pass."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 64
START, COMPARE, END = 38, 6, 1
"""Instructions before the loads, between them and the stores, and after: GCN3's, as MGPUSim has
them, scalar loads and waits included."""


@gpu.kernel("BitonicSort", registers=8, block=BLOCK, in_step=True)
def exchange(k: gpu.BlockTracer, array: gpu.Words, stage: int, step: int, ascending: bool) -> None:
    """A thread puts two numbers in order that are ``2 ** (stage - step)`` apart.

    Runs of ``2 ** (stage + 1)`` numbers rise and fall in turn.
    """
    apart = 1 << stage - step
    left = k.t % apart + k.t // apart * (2 * apart)
    k.compute(START)
    one, other = k.load(array, left), k.load(array, left + apart)
    k.wait()
    k.compute(COMPARE)
    rises = ((k.t >> stage) % 2 == 0) == ascending
    less, more = np.minimum(one, other), np.maximum(one, other)
    k.store(array, left, np.where(rises, less, more))
    k.store(array, left + apart, np.where(rises, more, less))
    k.compute(END)


def _power_of_two(length: int) -> int:
    """The next power of two, which the length has to be a multiple of."""
    return 1 << (length - 1).bit_length()


@gpu.program("bitonic_sort")
def bitonic_sort(
    memory: gpu.AddressSpace,
    seed: int,
    length: int = gpu.number(1024, 2 * BLOCK, 1 << 28, multiple=_power_of_two),
    ascending: bool = True,
) -> gpu.Launches:
    """Random numbers, sorted in place.

    Parameters:
        length: of the array, a power of two (MGPUSim: 1024).
        ascending: the order.
    """
    numbers = np.random.default_rng(seed).integers(0, 1 << 32, length, dtype=np.uint32)
    array = memory.allocate("array", numbers)
    for stage in range(length.bit_length() - 1):
        for step in range(stage + 1):
            yield exchange[length // 2](array, stage, step, ascending)
