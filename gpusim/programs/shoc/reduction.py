"""reduction: the sum of a vector."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.shoc.block_sum import BLOCK, block_sum

BLOCKS = 64
"""Thread blocks, whatever the size."""


@gpu.kernel("reduce", registers=14, shared=4 * BLOCK, in_step=True)
def add_up(k: gpu.BlockTracer, vector: gpu.Floats, sums: gpu.Floats) -> gpu.Steps:
    """Blocks stride through the vector together, two elements a thread; then each sums its threads.

    L in[i], L in[i + 256], two additions; 7 instructions for the two addresses (their index has 32
    bits) and 3 for the loop, as SASS of compute capability 6.1 has them.  A thread's sum is a word
    of shared memory, read and written in every iteration (it is volatile); the loop is therefore
    not unrolled, and each iteration waits for its two loads (our choice).  Thread 0 stores the
    block's sum.
    """
    k.compute(gpu.PROLOGUE)
    k.shared(1)
    total = np.zeros(k.threads, dtype=np.float32)
    for start, where in gpu.rounds(2 * BLOCK * k.bx, vector.length, 2 * BLOCK * BLOCKS):
        place = start + k.tid
        first = k.load(vector, place, where)
        second = k.load(vector, place + BLOCK, where)
        k.shared(1, where)
        k.wait(0, where)
        k.compute(12, where)
        both = first + second
        total += both if where is None else np.where(where, both, 0)
        k.shared(1, where)
        yield
    whole = block_sum(k, total)
    leader = k.tid == 0
    k.shared(1, leader)
    k.store(sums, k.bx, whole, leader)


@gpu.program("reduction")
def reduction(
    memory: gpu.AddressSpace,
    _seed: int,
    elements: int = gpu.number(1 << 18, 1, 1 << 28, multiple=2 * BLOCK),
    iterations: int = gpu.number(256),
) -> gpu.Launches:
    """The sum of a vector: 64 sums, which the host adds.

    Arrays in the order in, out; in[i] = i mod 3 (as in scan; our choice).

    Parameters:
        elements: of the vector, a multiple of 512 (the suite: 1, 8, 32 or 64 MiB).
        iterations: launches, all on the same vector (the suite: 256).
    """
    values = (np.arange(elements, dtype=np.int32) % 3).astype(np.float32)
    vector = memory.read_only("in", values)
    sums = memory.zeros("out", BLOCKS, np.float32)
    for _ in range(iterations):
        yield add_up[BLOCKS, BLOCK](vector, sums)
