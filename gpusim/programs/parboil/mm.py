"""mm: matrix multiplication with register tiles (Parboil's sgemm)."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

TILE_M, TILE_N, TILE_K = 128, 16, 8
ALPHA, BETA = np.float32(1.0), np.float32(0.0)


@frozen
class MmParameters:
    """Sizes of mm (the suite's medium input: 1024 x 1056 x 992).

    Attributes:
        m, n, k: multiples of 128, 16 and 8.
        ahead: loads of A that a thread has under way: 1, one before the products that need it; up
            to 8, as nvcc compiles the loop for Volta and later, which it unrolls.
    """

    m: int = gpu.number(1024, TILE_M, multiple=TILE_M)
    n: int = gpu.number(1056, TILE_N, multiple=TILE_N)
    k: int = gpu.number(992, TILE_K, multiple=TILE_K)
    ahead: int = gpu.number(1, 1, TILE_K)


@gpu.kernel("mysgemmNT", registers=44, shared=512, in_step=True)
def multiply(
    k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats, sizes: MmParameters
) -> gpu.Steps:
    """C = alpha A B^T + beta C, column-major: a block makes 128 x 16 of C, a thread a row of it.

    For each 8 columns: L B[n + (i + ty) ldb] into shared memory (two rows of 16 words a warp),
    barrier, 8 x {L A[m + (i + j) lda], coalesced, 2 instructions for the next address, and 16 FMA
    whose second operand is in shared memory}, `ahead` of the loads at a time, 5 for the loop and
    B's address, barrier.  At the end 16 x {L C, S C}, a column apart.
    """
    row = TILE_M * k.bx + k.tid
    column = TILE_N * k.by + k.tx
    total = np.zeros((k.blocks, TILE_N, TILE_M), dtype=np.float32)
    k.compute(16)
    for i in range(0, sizes.k, TILE_K):
        words = k.fetch(b, column + (i + k.ty) * sizes.n)
        k.shared(1)
        k.barrier()
        columns = []
        for first in range(i, i + TILE_K, sizes.ahead):
            under_way = range(first, min(first + sizes.ahead, i + TILE_K))
            columns += [k.load(a, row + j * sizes.m) for j in under_way]
            k.wait()
            for _ in under_way:
                k.shared(1, times=TILE_N // 4)  # four words each
                k.arithmetic(gpu.Unit.FP32, TILE_N + 2, 1)
        tiles = words.reshape(k.blocks, TILE_K, TILE_N).swapaxes(1, 2)
        total += tiles @ np.reshape(columns, (TILE_K, k.blocks, TILE_M)).swapaxes(0, 1)
        k.compute(5)
        k.barrier()
        yield
    for j in range(TILE_N):
        place = row + (TILE_N * k.by + j) * sizes.m
        old = k.fetch(c, place)
        k.arithmetic(gpu.Unit.FP32, 2, 2)
        k.store(c, place, ALPHA * total[:, j].ravel() + BETA * old)
    yield


@gpu.program("mm", MmParameters)
def mm(memory: gpu.AddressSpace, parameters: MmParameters, seed: int) -> gpu.Launches:
    """One launch.  Arrays in the order A, B (random values from 0 to 1), C."""
    m, n = parameters.m, parameters.n
    rng = np.random.default_rng(seed)
    a = memory.allocate("A", rng.random(m * parameters.k, dtype=np.float32))
    b = memory.allocate("B", rng.random(n * parameters.k, dtype=np.float32))
    c = memory.zeros("C", m * n, np.float32)
    yield multiply[(m // TILE_M, n // TILE_N), (TILE_N, TILE_K)](a, b, c, parameters)
