"""scan: the running sum of a vector."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import FLOAT4, PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.shoc.block_sum import BLOCK, block_sum
from gpusim.programs.tracer import BlockTracer, Mask, Shape

BLOCKS = 64
"""Thread blocks of the first and third kernel, whatever the size."""
UNROLL = 4
"""Loads that the first kernel has in flight (our choice out of what compilers do, 4 to 16)."""

Floats = DeviceArray[np.float32]
Vectors = DeviceArray[np.void]


def floats_of(vectors: Vectors) -> Floats:
    """The same memory, float by float."""
    return DeviceArray(
        vectors.name, vectors.data.view(np.float32), vectors.base, 4, 4 * vectors.length
    )


def region(block: int, vectors: int) -> range:
    """The vectors of four that a block sums up; the last one also takes what is left over."""
    size = vectors // BLOCKS
    return range(block * size, vectors if block == BLOCKS - 1 else (block + 1) * size)


def scan_block(k: BlockTracer, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Exclusive running sum over the (`BLOCK`,) values of a thread block.

    Two stores into shared memory, the first of zeros, so that no thread needs a bound; then for
    each distance 1, 2, ... 128: load, barrier, load, addition, store, barrier; and the result is
    loaded.  Rows of words: no bank conflicts.
    """
    sums = np.concatenate((np.zeros(BLOCK, dtype=np.float32), values))
    k.shared(1)
    k.shared(1)
    k.barrier()
    distance = 1
    while distance < BLOCK:
        k.shared(1)
        k.barrier()
        k.shared(1)
        k.compute(1)
        k.shared(1)
        k.barrier()
        sums[BLOCK:] += sums[BLOCK - distance : -distance].copy()
        distance *= 2
    k.shared(1)
    return sums[BLOCK - 1 : -1]


@define(kw_only=True, eq=False)
class ScanReduce(Kernel):
    """Each block sums up a region of its own: `UNROLL` coalesced loads in flight, then additions.

    The pointer and the loop take 5 instructions a turn.

    Attributes:
        vector: the input.
        sums: (64,) the blocks' sums.
    """

    vector: Floats
    sums: Floats
    name: str = "reduce"
    registers_per_thread: int = 31
    shared_bytes: int = 4 * BLOCK

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        own = region(k.bx, self.vector.length // 4)
        total = np.zeros(BLOCK, dtype=np.float32)
        for start in range(4 * own.start, 4 * own.stop, UNROLL * BLOCK):
            batch: list[tuple[NDArray[np.float32], Mask]] = []
            for first in range(start, min(start + UNROLL * BLOCK, 4 * own.stop), BLOCK):
                inside = first + k.tid < 4 * own.stop
                batch.append((k.load(self.vector, first + k.tid, inside), inside))
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
        k.store(self.sums, k.bx, whole, leader)


@define(kw_only=True, eq=False)
class ScanSums(Kernel):
    """One block: the exclusive running sum of the blocks' sums, in place.

    Attributes:
        sums: (64,) the blocks' sums.
    """

    sums: Floats
    name: str = "scan_single_block"
    registers_per_thread: int = 12
    shared_bytes: int = 8 * BLOCK

    def body(self, k: BlockTracer) -> None:
        inside = k.tid < self.sums.length
        k.compute(PROLOGUE)
        values = np.where(inside, k.load(self.sums, k.tid, inside), np.float32(0))
        k.wait(0, inside)
        k.store(self.sums, k.tid, scan_block(k, values), inside)


@define(kw_only=True, eq=False)
class ScanBottom(Kernel):
    """Each block scans its region, 256 vectors of four floats at a time, from its own start value.

    Thread 0 loads the start value into shared memory.  Then L.128 in4[i], three additions, the
    running sum over the block, four additions, seven instructions for two pointers and the loop,
    S.128 out4[i]; the last thread keeps the next start
    value.  Loads of the next vectors do not overtake the barriers (our choice).

    Attributes:
        source, result: vectors of four floats.
        sums: (64,) what precedes each block's region.
    """

    source: Vectors
    result: Vectors
    sums: Floats
    name: str = "bottom_scan"
    registers_per_thread: int = 26
    shared_bytes: int = 8 * BLOCK + 4

    def body(self, k: BlockTracer) -> Iterator[None]:
        leader, last = k.tid == 0, k.tid == BLOCK - 1
        k.compute(PROLOGUE)
        seed = k.load(self.sums, k.bx, leader)[0]
        k.wait(0, leader)
        k.shared(1, leader)
        own = region(k.bx, self.source.length)
        for start in range(own.start, own.stop, BLOCK):
            inside = start + k.tid < own.stop
            loaded = k.load(self.source, start + k.tid, inside)
            k.wait(0, inside)
            four = np.where(inside[:, None], loaded.view(np.float32).reshape(-1, 4), np.float32(0))
            k.compute(3)
            four = np.cumsum(four, axis=1, dtype=np.float32)
            before = scan_block(k, four[:, 3])
            k.shared(1)
            k.compute(12)
            four += (before + seed)[:, None]
            k.store(self.result, start + k.tid, four.view(FLOAT4).reshape(-1), inside)
            k.shared(1, last)
            seed = four[-1, 3]
            yield


@frozen
class ScanParameters:
    """Size and length of scan.

    Attributes:
        elements: of the vector, a multiple of 4 (the suite: 1, 8, 32 or 64 MiB).
        iterations: scans, all of the same vector (the suite: 256).
    """

    elements: int = field(default=1 << 18, validator=[ge(4 * BLOCKS), le(1 << 28)])
    iterations: int = field(default=256, validator=ge(1))

    @elements.validator
    def _whole(self, _: object, elements: int) -> None:
        if elements % 4:
            raise ValueError(f"'elements' must be a multiple of 4: {elements}")


@program("scan", ScanParameters)
class Scan(Program):
    """The inclusive running sum of a vector: first of the blocks' sums, then of each block.

    Arrays in the order idata, odata, block_sums; idata[i] = i mod 3.
    """

    def __init__(self, parameters: ScanParameters, seed: int) -> None:
        super().__init__("scan")
        self.iterations = parameters.iterations
        values = (np.arange(parameters.elements, dtype=np.int32) % 3).astype(np.float32)
        values.flags.writeable = False
        empty = np.zeros(parameters.elements // 4, dtype=FLOAT4)
        self.source = self.memory.allocate("idata", values.view(FLOAT4))
        self.result = self.memory.allocate("odata", empty)
        self.sums = self.memory.allocate("block_sums", np.zeros(BLOCKS, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        one, many = Shape((1, 1, 1), (BLOCK, 1, 1)), Shape((BLOCKS, 1, 1), (BLOCK, 1, 1))
        sums = self.sums
        for _ in range(self.iterations):
            yield ScanReduce(shape=many, vector=floats_of(self.source), sums=sums)
            yield ScanSums(shape=one, sums=sums)
            yield ScanBottom(shape=many, source=self.source, result=self.result, sums=sums)
