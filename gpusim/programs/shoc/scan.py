"""scan: the running sum of a vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.programs.idioms import FLOAT4, PROLOGUE, rounds
from gpusim.programs.parameters import multiple_of
from gpusim.programs.shoc.block_sum import BLOCK, block_sum
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Floats,
    Launches,
    Mask,
    Steps,
    Vectors,
    kernel,
    program,
)

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
    k: BlockTracer, values: NDArray[np.float32], where: Mask | None = None
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


@kernel("reduce", registers=31, shared=4 * BLOCK, in_step=True)
def add_up(k: BlockTracer, vector: Floats, sums: Floats) -> Steps:
    """Each block sums up a region of its own: `UNROLL` coalesced loads in flight, then additions.

    The pointer and the loop take 5 instructions a turn.
    """
    k.compute(PROLOGUE)
    first, stop = region(k.bx, vector.length // 4)
    place, stop = 4 * first + k.tid, 4 * stop
    total = np.zeros(k.threads, dtype=np.float32)
    while (place < stop).any():
        batch: list[tuple[NDArray[np.float32], Mask]] = []
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


@kernel("scan_single_block", registers=12, shared=8 * BLOCK)
def scan_sums(k: BlockTracer, sums: Floats) -> None:
    """One block: the exclusive running sum of the blocks' sums, in place."""
    inside = k.tid < sums.length
    k.compute(PROLOGUE)
    values = np.where(inside, k.load(sums, k.tid, inside), np.float32(0))
    k.wait(0, inside)
    k.store(sums, k.tid, scan_block(k, values), inside)


@kernel("bottom_scan", registers=26, shared=8 * BLOCK + 4, in_step=True)
def scan_regions(k: BlockTracer, source: Vectors, result: Vectors, sums: Floats) -> Steps:
    """Each block scans its region, 256 vectors of four floats at a time, from its own start value.

    Thread 0 loads the start value, what precedes the region, into shared memory.  Then L.128
    in4[i], three additions, the running sum over the block, four additions, seven instructions for
    two pointers and the loop, S.128 out4[i]; the last thread keeps the next start value.  Loads of
    the next vectors do not overtake the barriers (our choice).
    """
    leader, last = k.tid == 0, k.tid == BLOCK - 1
    k.compute(PROLOGUE)
    seed = k.load(sums, k.bx, leader).reshape(k.blocks, -1)[k.which, 0]
    k.wait(0, leader)
    k.shared(1, leader)
    first, stop = region(k.bx, source.length)
    for start, where in rounds(first, stop, BLOCK):
        place = start + k.tid
        inside = place < stop
        loaded = k.load(source, place, inside)
        k.wait(0, inside)
        four = np.where(inside[:, None], loaded.view(np.float32).reshape(-1, 4), np.float32(0))
        k.compute(3, where)
        four = np.cumsum(four, axis=1, dtype=np.float32)
        before = scan_block(k, four[:, 3], where)
        k.shared(1, where)
        k.compute(12, where)
        four += (before + seed)[:, None]
        k.store(result, place, four.view(FLOAT4).reshape(-1), inside)
        k.shared(1, last if where is None else last & where)
        seed = four[BLOCK - 1 :: BLOCK, 3][k.which]
        yield


@frozen
class ScanParameters:
    """Size and length of scan.

    Attributes:
        elements: of the vector, a multiple of 4 (the suite: 1, 8, 32 or 64 MiB).
        iterations: scans, all of the same vector (the suite: 256).
    """

    elements: int = field(default=1 << 18, validator=[ge(4 * BLOCKS), le(1 << 28), multiple_of(4)])
    iterations: int = field(default=256, validator=ge(1))


@program("scan", ScanParameters)
def scan(memory: AddressSpace, parameters: ScanParameters, _seed: int) -> Launches:
    """The inclusive running sum of a vector: first of the blocks' sums, then of each block.

    Arrays in the order idata, odata, block_sums; idata[i] = i mod 3.
    """
    values = (np.arange(parameters.elements, dtype=np.int32) % 3).astype(np.float32)
    source = memory.read_only("idata", values.view(FLOAT4))
    result = memory.allocate("odata", np.zeros(parameters.elements // 4, dtype=FLOAT4))
    sums = memory.zeros("block_sums", BLOCKS, np.float32)
    vector = source.view(np.float32)
    for _ in range(parameters.iterations):
        yield add_up[BLOCKS, BLOCK](vector, sums)
        yield scan_sums[1, BLOCK](sums)
        yield scan_regions[BLOCKS, BLOCK](source, result, sums)
