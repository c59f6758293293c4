"""splitk_gemm: a product of few rows, whose sums several thread blocks share."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.llm.halves import HALF_BYTES, IN_A_VECTOR, vector

THREADS = 128
DEPTH = 32
"""Numbers of a row that are multiplied at a time."""
ROW_THREADS = DEPTH // IN_A_VECTOR
"""Threads that load them."""
AT_ONCE = THREADS // ROW_THREADS
FLOATS = 4
"""Numbers of 4 bytes that a thread stores at once."""


@frozen
class GemmParameters:
    """Sizes of splitk_gemm.

    Attributes:
        m: rows of A and of C, such as the sequences of a decode step.
        n: columns of B and of C.
        k: what is summed up.
        splits: thread blocks that share a sum.
        tile: rows and columns that a thread block makes.
    """

    m: int = gpu.number(64, multiple="tile")
    n: int = gpu.number(4096, multiple="tile")
    k: int = gpu.number(14336, multiple=lambda splits: DEPTH * splits)
    splits: int = gpu.number(4, 1, 64)
    tile: int = gpu.choice(64, (64, 128))

    @property
    def depth(self) -> int:
        """Numbers that a thread block sums up."""
        return self.k // self.splits


def _shared_bytes(of: GemmParameters) -> int:
    """Two tiles of A and of B."""
    return 4 * of.tile * DEPTH * HALF_BYTES


def _registers(of: GemmParameters) -> int:
    """Sums, and 64 others."""
    return of.tile**2 // THREADS + 64


@gpu.kernel("gemm_splitk", registers=_registers, block=THREADS, shared=_shared_bytes, in_step=True)
def multiply(
    k: gpu.BlockTracer,
    a: gpu.Vectors,
    b: gpu.Vectors,
    partial: gpu.DeviceArray[np.void],
    of: GemmParameters,
) -> gpu.Steps:
    """A tile of C, of a part of the sums, a thread block of four warps.

    32 numbers at a time: barrier, L the next of A's rows and of B's columns, 16 bytes a thread,
    into shared memory, while tensor cores multiply the last ones.  S the sums, 16 bytes a thread.
    Two tiles are under way at most; registers are our choice.

    Takes `a` ([m, k]), `b` ([n, k]), `partial` ([splits, m, n] of 4 bytes), `of`.
    """
    wide = of.k // IN_A_VECTOR
    start = k.bz * (of.depth // IN_A_VECTOR) + k.tid % ROW_THREADS
    rows = [first + k.tid // ROW_THREADS for first in range(0, of.tile, AT_ONCE)]
    k.compute(3 * gpu.PROLOGUE)
    for step in range(of.depth // DEPTH + 1):
        k.wait()
        k.barrier()
        if step * DEPTH < of.depth:
            for array, first in ((a, k.by * of.tile), (b, k.bx * of.tile)):
                for row in rows:
                    k.load(array, (first + row) * wide + start + step * ROW_THREADS)
        if step:
            k.shared(4, times=of.tile // 8)
            k.arithmetic(gpu.Unit.TENSOR, (of.tile // 16) * (of.tile // 8) // 2, 2)
        k.arithmetic(gpu.Unit.INTEGER, 4, 1)
        yield
    pieces = of.tile // FLOATS
    for first in range(0, of.tile, THREADS // pieces):
        row = k.by * of.tile + first + k.tid // pieces
        place = (k.bz * of.m + row) * (of.n // FLOATS) + k.bx * pieces + k.tid % pieces
        k.store(partial, place, 0)


@gpu.kernel("reduce_splitk", registers=32, block=THREADS, in_step=True)
def add_up(
    k: gpu.BlockTracer,
    partial: gpu.DeviceArray[np.void],
    c: gpu.Vectors,
    pieces: int,
    splits: int,
) -> None:
    """Four numbers of C a thread: L each part's, additions, S 8 bytes.

    Takes `partial`, `c` (of 2 bytes), `pieces` (of C), `splits`.
    """
    where = gpu.threads_below(k, pieces)
    for split in range(splits):
        k.load(partial, split * pieces + k.t, where)
    k.wait(0, where)
    k.arithmetic(gpu.Unit.FP32, FLOATS * splits, splits, where)
    k.store(c, k.t, 0, where)


@gpu.program("splitk_gemm", GemmParameters)
def splitk_gemm(memory: gpu.AddressSpace, parameters: GemmParameters, _seed: int) -> gpu.Launches:
    """C = A B^T of 16-bit numbers, as CUTLASS's split-K (parallel) computes it.

    NVIDIA, "Efficient GEMM in CUDA", CUTLASS's documentation.  Arrays have no contents, in the
    order A, B, partial, C; two launches.
    """
    of = parameters
    a = memory.blank("A", of.m * of.k // IN_A_VECTOR, vector())
    b = memory.blank("B", of.n * of.k // IN_A_VECTOR, vector())
    pieces = of.m * of.n // FLOATS
    partial = memory.blank("partial", of.splits * pieces, gpu.FLOAT4)
    c = memory.blank("C", pieces, vector(FLOATS * HALF_BYTES))
    yield multiply[(of.n // of.tile, of.m // of.tile, of.splits), THREADS](a, b, partial, of)
    yield add_up[pieces](partial, c, pieces, of.splits)
