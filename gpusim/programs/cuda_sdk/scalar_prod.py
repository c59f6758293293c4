"""scalar_prod: scalar products of many pairs of vectors (the SDK's scalarProd)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCKS = 128
BLOCK = 256
ACCUMULATORS = 1024
"""Sums in shared memory, four a thread."""
UNROLL = 4
LOOP = 7
"""Instructions of an iteration beside loads and sums: two additions a pointer, and add, compare and
branch, as SASS of compute capability 6.1 has them."""


@gpu.kernel("scalarProdGPU", registers=30, shared=4 * ACCUMULATORS, in_step=True)
def multiply(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, elements: int
) -> gpu.Steps:
    """A pair of vectors a block at a time; 128 blocks stride through the pairs.

    Each accumulator sums up every 1024th product: L A[p], L B[p], coalesced, four positions in
    flight, since nothing is stored to global memory (our choice of the compiler's unrolling), with
    `LOOP` instructions for two addresses of 64 bits and the loop; then
    it goes into shared memory.  A tree of ten steps follows, a barrier before each, without bank
    conflicts, and thread 0 stores C[v].
    """
    k.compute(gpu.PROLOGUE)
    first: gpu.Lanes = np.broadcast_to(k.bx, k.threads)
    for vector, where in gpu.strides(first, c.length, BLOCKS):
        sums = np.zeros((k.blocks, ACCUMULATORS), dtype=np.float32)
        for start in range(0, ACCUMULATORS, BLOCK):
            offsets = range(start, elements, ACCUMULATORS)
            own = _accumulated(k, (a, b), vector * elements, offsets, where)
            sums[:, start : start + BLOCK] = own.reshape(k.blocks, BLOCK)
            k.shared(1, where)
            yield
        _tree(k, sums, where)
        leader = where & (k.tid == 0)
        k.shared(1, leader)
        k.store(c, vector, sums[:, 0].repeat(BLOCK), leader)
        yield


def _accumulated(
    k: gpu.BlockTracer,
    pair: tuple[gpu.Floats, gpu.Floats],
    start: gpu.Lanes,
    offsets: range,
    where: gpu.Mask,
) -> NDArray[np.float32]:
    """(threads,) sums of the products of a pair, from `start` on, at `offsets` from each thread."""
    total = np.zeros(k.threads, dtype=np.float32)
    for first in range(0, len(offsets), UNROLL):
        batch = offsets[first : first + UNROLL]
        products = []
        for offset in batch:
            inside = where & (offset + k.tid < offsets.stop)
            a, b = (k.load(vector, start + offset + k.tid, inside) for vector in pair)
            products.append(np.where(inside, a * b, np.float32(0)))
        active = where & (batch[0] + k.tid < offsets.stop)
        k.wait(0, active)
        k.compute(len(products) + LOOP, active)
        for values in products:
            total += values
    return total


def _tree(k: gpu.BlockTracer, sums: NDArray[np.float32], where: gpu.Mask) -> None:
    """Add up each block's sums in its first."""
    stride = ACCUMULATORS // 2
    while stride:
        k.barrier(where)
        for first in range(0, stride, BLOCK):
            adding = where & (first + k.tid < stride)
            k.shared(1, adding, times=2)
            k.compute(1, adding)
            k.shared(1, adding)
        sums[:, :stride] += sums[:, stride : 2 * stride]
        stride //= 2


@gpu.program("scalar_prod")
def scalar_prod(
    memory: gpu.AddressSpace,
    seed: int,
    vectors: int = gpu.number(256, 1, 1 << 20),
    elements: int = gpu.number(4096, 1, 1 << 20),
) -> gpu.Launches:
    """Scalar products.  Arrays in the order A, B, C; A and B are random in 0..1.

    Parameters:
        vectors: pairs of vectors (the SDK: 256).
        elements: of a vector (the SDK: 4096).
    """
    generator = np.random.default_rng(seed)
    count = vectors * elements
    a, b = (memory.allocate(name, generator.random(count, dtype=np.float32)) for name in "AB")
    c = memory.zeros("C", vectors, np.float32)
    yield multiply[BLOCKS, BLOCK](a, b, c, elements)
