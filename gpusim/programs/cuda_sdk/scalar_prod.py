"""scalar_prod: scalar products of many pairs of vectors (the SDK's scalarProd)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes, Mask
from gpusim.programs.tracer import BlockTracer, Shape

BLOCKS = 128
BLOCK = 256
ACCUMULATORS = 1024
"""Sums in shared memory, four a thread."""
UNROLL = 4
LOOP = 7
"""Instructions of an iteration beside loads and sums: two additions a pointer, and add, compare and
branch, as SASS of compute capability 6.1 has them."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class ScalarProdKernel(Kernel):
    """A pair of vectors a block at a time; 128 blocks stride through the pairs.

    Each accumulator sums up every 1024th product: L A[p], L B[p], coalesced, four positions in
    flight, since nothing is stored to global memory (our choice of the compiler's unrolling), with
    `LOOP` instructions for two addresses of 64 bits and the loop; then
    it goes into shared memory.  A tree of ten steps follows, a barrier before each, without bank
    conflicts, and thread 0 stores C[v].

    Attributes:
        a, b: vectors one after the other.
        c: (vectors,) their products.
        elements: of a vector.
    """

    a: Floats
    b: Floats
    c: Floats
    elements: int
    name: str = "scalarProdGPU"
    registers_per_thread: int = 30
    shared_bytes: int = 4 * ACCUMULATORS
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        vector = np.broadcast_to(k.bx, k.threads)
        while (where := vector < self.c.length).any():
            sums = np.zeros((k.blocks, ACCUMULATORS), dtype=np.float32)
            for first in range(0, ACCUMULATORS, BLOCK):
                own = self._accumulate(k, vector, first, where)
                sums[:, first : first + BLOCK] = own.reshape(k.blocks, BLOCK)
                k.shared(1, where)
                yield
            self._tree(k, sums, where)
            leader = where & (k.tid == 0)
            k.shared(1, leader)
            k.store(self.c, vector, sums[:, 0].repeat(BLOCK), leader)
            vector = vector + BLOCKS
            yield

    def _accumulate(
        self, k: BlockTracer, vector: Lanes, first: int, where: Mask
    ) -> NDArray[np.float32]:
        """(threads,) sums of every 1024th product, from the thread's number + `first` on."""
        total = np.zeros(k.threads, dtype=np.float32)
        offsets = range(first, self.elements, ACCUMULATORS)
        for start in range(0, len(offsets), UNROLL):
            products = []
            for offset in offsets[start : start + UNROLL]:
                inside = where & (offset + k.tid < self.elements)
                place = vector * self.elements + offset + k.tid
                a = k.load(self.a, place, inside)
                b = k.load(self.b, place, inside)
                products.append(np.where(inside, a * b, np.float32(0)))
            active = where & (offsets[start] + k.tid < self.elements)
            k.wait(0, active)
            k.compute(len(products) + LOOP, active)
            for values in products:
                total += values
        return total

    @staticmethod
    def _tree(k: BlockTracer, sums: NDArray[np.float32], where: Mask) -> None:
        """Add up each block's sums in its first."""
        stride = ACCUMULATORS // 2
        while stride:
            k.barrier(where)
            for first in range(0, stride, BLOCK):
                adding = where & (first + k.tid < stride)
                k.shared(1, adding)
                k.shared(1, adding)
                k.compute(1, adding)
                k.shared(1, adding)
            sums[:, :stride] += sums[:, stride : 2 * stride]
            stride //= 2


@frozen
class ScalarProdParameters:
    """Size of scalar_prod.

    Attributes:
        vectors: pairs of vectors (the SDK: 256).
        elements: of a vector (the SDK: 4096).
    """

    vectors: int = field(default=256, validator=[ge(1), le(1 << 20)])
    elements: int = field(default=4096, validator=[ge(1), le(1 << 20)])


@program("scalar_prod", ScalarProdParameters)
class ScalarProd(Program):
    """Scalar products.  Arrays in the order A, B, C; A and B are random in 0..1."""

    def __init__(self, parameters: ScalarProdParameters, seed: int) -> None:
        super().__init__("scalar_prod")
        self.elements = parameters.elements
        generator = np.random.default_rng(seed)
        count = parameters.vectors * parameters.elements
        self.a = self.memory.allocate("A", generator.random(count, dtype=np.float32))
        self.b = self.memory.allocate("B", generator.random(count, dtype=np.float32))
        self.c = self.memory.allocate("C", np.zeros(parameters.vectors, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        yield ScalarProdKernel(
            shape=Shape((BLOCKS, 1, 1), (BLOCK, 1, 1)),
            a=self.a,
            b=self.b,
            c=self.c,
            elements=self.elements,
        )
