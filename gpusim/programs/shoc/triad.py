"""triad: C = A + s B."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

BLOCK = 128
FACTOR = 1.75


@gpu.kernel("triad", registers=12, block=BLOCK, in_step=True)
def add(k: gpu.BlockTracer, a: gpu.Floats, b: gpu.Floats, c: gpu.Floats) -> None:
    """An element a thread, without a bound: L A, L B, a multiplication with addition, S C.

    20 instructions: those of a vector addition in SASS of compute capability 6.1, 23 with a bound.
    """
    k.compute(13)
    one = k.load(a, k.t)
    other = k.load(b, k.t)
    k.wait()
    k.compute(4)
    k.store(c, k.t, one + np.float32(FACTOR) * other)


@gpu.program("triad")
def triad(
    memory: gpu.AddressSpace,
    seed: int,
    elements: int = gpu.number(1 << 22, BLOCK, 1 << 28, multiple="chunk"),
    chunk: int = gpu.number(1 << 22, BLOCK, multiple=BLOCK),
) -> gpu.Launches:
    """STREAM's triad: the host copies a chunk into A and into B, and launches the kernel.

    Arrays in the order A0, B0, C0, A1, B1, C1; the launches take the two sets in turn.  The suite
    runs them in two streams, to copy one chunk while the other is computed; here they follow each
    other.  Values are random in 0..10.

    Parameters:
        elements: of the whole vectors; every device array has room for all (the suite: 16 MiB).
        chunk: elements of a launch; the suite goes through 16 Ki to 4 Mi, powers of two.
    """
    host = 10 * np.random.default_rng(seed).random(elements, dtype=np.float32)
    sets = [
        [memory.zeros(f"{name}{number}", elements, np.float32) for name in "ABC"]
        for number in (0, 1)
    ]
    for number, piece in enumerate(host.reshape(-1, chunk)):
        a, b, c = sets[number % 2]
        a.data[:chunk] = b.data[:chunk] = piece
        yield add[chunk](a, b, c)
