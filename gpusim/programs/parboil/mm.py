"""mm: matrix multiplication with register tiles (Parboil's sgemm)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

TILE_M, TILE_N, TILE_K = 128, 16, 8
ALPHA, BETA = np.float32(1.0), np.float32(0.0)

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class Sgemm(Kernel):
    """C = alpha A B^T + beta C, column-major: a block makes 128 x 16 of C, a thread a row of it.

    For each 8 columns: L B[n + (i + ty) ldb] into shared memory (two rows of 16 words a warp),
    barrier, 8 x {L A[m + (i + j) lda], coalesced, 2 instructions for the next address, and 16 FMA
    whose second operand is in shared memory}, 5 for the loop and B's address, barrier.  At the end
    16 x {L C, S C}, a column apart.

    Attributes:
        a, b, c: (m, k), (n, k) and (m, n) elements, column by column.
        m, n, k: their sizes.
    """

    a: Floats
    b: Floats
    c: Floats
    m: int
    n: int
    k: int
    name: str = "mysgemmNT"
    registers_per_thread: int = 44
    shared_bytes: int = 512
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        row = TILE_M * k.bx + k.tid
        column = TILE_N * k.by + k.tx
        total = np.zeros((k.blocks, TILE_N, TILE_M), dtype=np.float32)
        k.compute(16)
        for i in range(0, self.k, TILE_K):
            words = k.load(self.b, column + (i + k.ty) * self.n)
            k.wait()
            k.shared(1)
            k.barrier()
            columns = []
            for j in range(TILE_K):
                columns.append(k.load(self.a, row + (i + j) * self.m))
                k.wait()
                for _ in range(TILE_N // 4):  # four words a shared load
                    k.shared(1)
                k.compute(TILE_N + 2)
            tiles = words.reshape(k.blocks, TILE_K, TILE_N).swapaxes(1, 2)
            total += tiles @ np.reshape(columns, (TILE_K, k.blocks, TILE_M)).swapaxes(0, 1)
            k.compute(5)
            k.barrier()
            yield
        for j in range(TILE_N):
            place = row + (TILE_N * k.by + j) * self.m
            old = k.load(self.c, place)
            k.wait()
            k.compute(2)
            k.store(self.c, place, ALPHA * total[:, j].ravel() + BETA * old)
        yield


@frozen
class MmParameters:
    """Sizes of mm (the suite's medium input: 1024 x 1056 x 992).

    Attributes:
        m, n, k: multiples of 128, 16 and 8.
    """

    m: int = field(default=1024, validator=ge(TILE_M))
    n: int = field(default=1056, validator=ge(TILE_N))
    k: int = field(default=992, validator=ge(TILE_K))

    def __attrs_post_init__(self) -> None:
        for name, tile in (("m", TILE_M), ("n", TILE_N), ("k", TILE_K)):
            if getattr(self, name) % tile:
                raise ValueError(f"'{name}' must be a multiple of {tile}: {getattr(self, name)}")


@program("mm", MmParameters)
class Mm(Program):
    """One launch.  Arrays in the order A, B (random values from 0 to 1), C."""

    def __init__(self, parameters: MmParameters, seed: int) -> None:
        super().__init__("mm")
        self.sizes = m, n, k = parameters.m, parameters.n, parameters.k
        rng = np.random.default_rng(seed)
        self.a = self.memory.allocate("A", rng.random(m * k, dtype=np.float32))
        self.b = self.memory.allocate("B", rng.random(n * k, dtype=np.float32))
        self.c = self.memory.allocate("C", np.zeros(m * n, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        m, n, k = self.sizes
        shape = Shape((m // TILE_M, n // TILE_N, 1), (TILE_N, TILE_K, 1))
        yield Sgemm(shape=shape, a=self.a, b=self.b, c=self.c, m=m, n=n, k=k)
