"""scan: the running sum of a vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.shoc.block_sum import BLOCK, block_sum

BLOCKS = 64
"""Thread blocks of the first and third kernel, whatever the size."""
UNROLL = 4
"""Loads that the first kernel has in flight (our choice out of what compilers do, 4 to 16)."""


def region(block: Any, vectors: int) -> tuple[Any, Any]:
    """Bounds of the vectors of four that a block sums up; the last one takes the rest, too."""
    size, rest = divmod(vectors, BLOCKS)
    first = block * size
    return first, first + size + rest * (block == BLOCKS - 1)


def scan_block(
    k: gpu.BlockTracer, values: NDArray[np.float32], where: gpu.Mask | None = None
) -> NDArray[np.float32]:
    """Exclusive running sum over the `BLOCK` values of a thread block; `where`: of which blocks.

    Two stores into shared memory, the first of zeros, so that no thread needs a bound; then for
    each distance 1, 2, ... 128: load, barrier, load, addition, store, barrier; and the result is
    loaded.  Rows of words: no bank conflicts.
    """
    sums = np.zeros((k.blocks, 2 * BLOCK), dtype=np.float32)
    own = sums[:, BLOCK:]
    own[:] = values.reshape(k.blocks, BLOCK)
    k.shared(1, where)
    k.shared(1, where)
    k.barrier(where)
    distance = 1
    while distance < BLOCK:
        k.shared(1, where)
        k.barrier(where)
        k.shared(1, where)
        k.compute(1, where)
        k.shared(1, where)
        k.barrier(where)
        own += sums[:, BLOCK - distance : -distance].copy()
        distance *= 2
    k.shared(1, where)
    return sums[:, BLOCK - 1 : -1].reshape(-1)


@gpu.kernel("reduce", registers=31, shared=4 * BLOCK, in_step=True)
def add_up(k: gpu.BlockTracer, vector: gpu.Floats, sums: gpu.Floats) -> gpu.Steps:
    """Each block sums up a region of its own: `UNROLL` coalesced loads in flight, then additions.

    The pointer and the loop take 5 instructions a turn.
    """
    k.compute(gpu.PROLOGUE)
    first, stop = region(k.bx, vector.length // 4)
    place, stop = 4 * first + k.tid, 4 * stop
    total = np.zeros(k.threads, dtype=np.float32)
    while (place < stop).any():
        batch: list[tuple[NDArray[np.float32], gpu.Mask]] = []
        for _ in range(UNROLL):
            inside = place < stop
            batch.append((k.load(vector, place, inside), inside))
            place = place + BLOCK
        k.wait(0, batch[0][1])
        k.compute(5, batch[0][1])
        for values, inside in batch:
            k.compute(1, inside)
            total[inside] += values[inside]
        yield
    k.shared(1)
    whole = block_sum(k, total)
    leader = k.tid == 0
    k.shared(1, leader)
    k.store(sums, k.bx, whole, leader)


@gpu.kernel("scan_single_block", registers=12, shared=8 * BLOCK)
def scan_sums(k: gpu.BlockTracer, sums: gpu.Floats) -> None:
    """One block: the exclusive running sum of the blocks' sums, in place."""
    inside = k.tid < sums.length
    k.compute(gpu.PROLOGUE)
    values = np.where(inside, k.fetch(sums, k.tid, inside), np.float32(0))
    k.store(sums, k.tid, scan_block(k, values), inside)


@gpu.kernel("bottom_scan", registers=26, shared=8 * BLOCK + 4, in_step=True)
def scan_regions(
    k: gpu.BlockTracer, source: gpu.Vectors, result: gpu.Vectors, sums: gpu.Floats
) -> gpu.Steps:
    """Each block scans its region, 256 vectors of four floats at a time, from its own start value.

    Thread 0 loads the start value, what precedes the region, into shared memory.  Then L.128
    in4[i], three additions, the running sum over the block, four additions, seven instructions for
    two pointers and the loop, S.128 out4[i]; the last thread keeps the next start value.  Loads of
    the next vectors do not overtake the barriers (our choice).
    """
    leader, last = k.tid == 0, k.tid == BLOCK - 1
    k.compute(gpu.PROLOGUE)
    seed = k.fetch(sums, k.bx, leader).reshape(k.blocks, -1)[k.which, 0]
    k.shared(1, leader)
    first, stop = region(k.bx, source.length)
    for start, where in gpu.rounds(first, stop, BLOCK):
        place = start + k.tid
        inside = place < stop
        loaded = k.fetch(source, place, inside)
        four = np.where(inside[:, None], loaded.view(np.float32).reshape(-1, 4), np.float32(0))
        k.compute(3, where)
        four = np.cumsum(four, axis=1, dtype=np.float32)
        before = scan_block(k, four[:, 3], where)
        k.shared(1, where)
        k.compute(12, where)
        four += (before + seed)[:, None]
        k.store(result, place, four.view(gpu.FLOAT4).reshape(-1), inside)
        k.shared(1, last if where is None else last & where)
        seed = four[BLOCK - 1 :: BLOCK, 3][k.which]
        yield


@gpu.program("scan")
def scan(
    memory: gpu.AddressSpace,
    _seed: int,
    elements: int = gpu.number(1 << 18, 4 * BLOCKS, 1 << 28, multiple=4),
    iterations: int = gpu.number(256),
) -> gpu.Launches:
    """The inclusive running sum of a vector: first of the blocks' sums, then of each block.

    Arrays in the order idata, odata, block_sums; idata[i] = i mod 3.

    Parameters:
        elements: of the vector, a multiple of 4 (the suite: 1, 8, 32 or 64 MiB).
        iterations: scans, all of the same vector (the suite: 256).
    """
    values = (np.arange(elements, dtype=np.int32) % 3).astype(np.float32)
    source = memory.read_only("idata", values.view(gpu.FLOAT4))
    result = memory.allocate("odata", np.zeros(elements // 4, dtype=gpu.FLOAT4))
    sums = memory.zeros("block_sums", BLOCKS, np.float32)
    vector = source.view(np.float32)
    for _ in range(iterations):
        yield add_up[BLOCKS, BLOCK](vector, sums)
        yield scan_sums[1, BLOCK](sums)
        yield scan_regions[BLOCKS, BLOCK](source, result, sums)
