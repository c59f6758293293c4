"""reduction: the sum of a vector."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE, rounds
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.shoc.block_sum import BLOCK, block_sum
from gpusim.programs.tracer import BlockTracer, Shape

BLOCKS = 64
"""Thread blocks, whatever the size."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class ReductionKernel(Kernel):
    """Blocks stride through the vector together, two elements a thread; then each sums its threads.

    L in[i], L in[i + 256], two additions; 7 instructions for the two addresses (their index has 32
    bits) and 3 for the loop, as SASS of compute capability 6.1 has them.  A thread's sum is a word
    of shared memory, read and written in every iteration (it is volatile); the loop is therefore
    not unrolled, and each iteration waits for its two loads (our choice).  Thread 0 stores the
    block's sum.

    Attributes:
        vector: a multiple of 512 elements.
        sums: (64,) the blocks' sums.
    """

    vector: Floats
    sums: Floats
    name: str = "reduce"
    registers_per_thread: int = 14
    shared_bytes: int = 4 * BLOCK
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        k.compute(PROLOGUE)
        k.shared(1)
        total = np.zeros(k.threads, dtype=np.float32)
        length = self.vector.length
        for start, where in rounds(2 * BLOCK * k.bx, length, 2 * BLOCK * BLOCKS):
            place = start + k.tid
            first = k.load(self.vector, place, where)
            second = k.load(self.vector, place + BLOCK, where)
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
        k.store(self.sums, k.bx, whole, leader)


@frozen
class ReductionParameters:
    """Size and length of reduction.

    Attributes:
        elements: of the vector, a multiple of 512 (the suite: 1, 8, 32 or 64 MiB).
        iterations: launches, all on the same vector (the suite: 256).
    """

    elements: int = field(default=1 << 18, validator=[ge(1), le(1 << 28)])
    iterations: int = field(default=256, validator=ge(1))

    @elements.validator
    def _whole(self, _: object, elements: int) -> None:
        if elements % (2 * BLOCK):
            raise ValueError(f"'elements' must be a multiple of {2 * BLOCK}: {elements}")


@program("reduction", ReductionParameters)
class Reduction(Program):
    """The sum of a vector: 64 sums, which the host adds.

    Arrays in the order in, out; in[i] = i mod 3 (as in scan; our choice).
    """

    def __init__(self, parameters: ReductionParameters, seed: int) -> None:
        super().__init__("reduction")
        self.iterations = parameters.iterations
        values = (np.arange(parameters.elements, dtype=np.int32) % 3).astype(np.float32)
        values.flags.writeable = False
        self.vector = self.memory.allocate("in", values)
        self.sums = self.memory.allocate("out", np.zeros(BLOCKS, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        shape = Shape((BLOCKS, 1, 1), (BLOCK, 1, 1))
        kernel = ReductionKernel(shape=shape, vector=self.vector, sums=self.sums)
        for _ in range(self.iterations):
            yield kernel
