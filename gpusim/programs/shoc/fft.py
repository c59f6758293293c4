"""fft: many transforms of 512 complex numbers."""

from __future__ import annotations

from math import lcm

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

POINTS = 512
THREADS = 64
RADIX = 8
RADIX_INSTRUCTIONS = 72
"""Of a transform of 8 points in registers (our count of the additions and multiplications)."""
TWIDDLE_INSTRUCTIONS = 849
"""Of seven rotations: sine, cosine, complex product.  So a wavefront has 2083 instructions and 1985
between its last load and its first store, as in MGPUSim's trace."""
START, LOADED, STORES = 32, 3, 47
"""Before the first load, among the loads, and among and after the stores of a transform: addresses,
in the same trace."""
MOST_BLOCKS_X = 65535

Numbers = gpu.DeviceArray[np.complex64]
Complex = NDArray[np.complex64]


def roots(points: int, rows: int, columns: int) -> Complex:
    """(rows, columns) of exp(-2 pi i * row * column / points)."""
    turns = np.outer(np.arange(rows), np.arange(columns)) / points
    found: Complex = np.exp(-2j * np.pi * turns).astype(np.complex64)
    return found


EIGHT = roots(RADIX, RADIX, RADIX)
FIRST_TWIDDLE = roots(POINTS, RADIX, THREADS)
SECOND_TWIDDLE = roots(THREADS, RADIX, RADIX)


def grid_of(blocks: int) -> gpu.Shape:
    """Blocks of 64 threads, in rows of at most 65,535."""
    rows = 1
    while blocks // rows > MOST_BLOCKS_X:
        rows *= 2
    return gpu.Shape((blocks // rows, rows, 1), (THREADS, 1, 1))


def _first(k: gpu.BlockTracer) -> gpu.Lanes:
    """(threads,) the first number of each thread: thread t has the numbers t + 64 m, m = 0..7.

    There is a block of 64 threads for each transform.
    """
    first: gpu.Lanes = POINTS * (k.by * k.shape.grid[0] + k.bx) + k.tid
    return first


def _loaded(k: gpu.BlockTracer, work: Numbers, first: gpu.Lanes) -> Complex:
    """(8, threads) the numbers of all threads, on their way."""
    return np.stack([k.load(work, first + THREADS * m) for m in range(RADIX)])


def transform(k: gpu.BlockTracer, work: Numbers, inverse: bool) -> None:
    """A transform in three stages of radix 8, in place; backwards with a division by 512.

    8 coalesced loads of 8 bytes; stage, twiddle, exchange; stage, twiddle, exchange; stage; 8
    stores to the same places.  An exchange through shared memory takes first the real, then the
    imaginary parts: 8 stores, barrier, 8 loads, barrier; the last barrier of the second exchange
    is left out.  The rows are padded: only the loads of the first exchange have bank conflicts,
    of two lanes each.
    """
    first = _first(k)
    k.compute(START)
    values = _loaded(k, work, first)
    k.compute(LOADED)
    k.wait()
    k.compute(RADIX_INSTRUCTIONS + TWIDDLE_INSTRUCTIONS)
    _exchange(k, load_passes=2, last_barrier=True)
    k.compute(RADIX_INSTRUCTIONS + TWIDDLE_INSTRUCTIONS)
    _exchange(k, load_passes=1, last_barrier=False)
    k.compute(RADIX_INSTRUCTIONS + (2 * RADIX if inverse else 0))
    for m, row in enumerate(_transformed(values, inverse)):
        k.store(work, first + THREADS * m, row)
    k.compute(STORES)


forward, backward = (
    gpu.kernel(name, registers=32, shared=4 * RADIX * RADIX * (RADIX + 1), in_step=True)(transform)
    for name in ("FFT512_device", "IFFT512_device")
)


def _exchange(k: gpu.BlockTracer, load_passes: int, last_barrier: bool) -> None:
    for barrier_after in (True, last_barrier):
        k.shared(1, times=RADIX)
        k.barrier()
        k.shared(load_passes, times=RADIX)
        if barrier_after:
            k.barrier()


def _transformed(values: Complex, inverse: bool) -> Complex:
    """(8, threads) numbers [m, t] to their block's transform, [m, t] as well."""
    if inverse:
        values = values.conj()
    blocks = values.reshape(RADIX, -1, THREADS).swapaxes(0, 1)
    once = (EIGHT @ blocks * FIRST_TWIDDLE).reshape(-1, RADIX, RADIX, RADIX)
    twice = EIGHT @ once * SECOND_TWIDDLE
    result = (twice @ EIGHT).transpose(3, 0, 2, 1).reshape(RADIX, -1)
    return result.conj() / np.float32(POINTS) if inverse else result


@gpu.kernel(
    "chk512_device", registers=40, in_step=True
)  # our estimate: 16 numbers and their address
def check(k: gpu.BlockTracer, work: Numbers, fail: gpu.DeviceArray[np.int8], half: int) -> None:
    """Compares the transforms of the first half with those of the second: 16 loads, 16 comparisons.

    `half` numbers are of the first half; `fail` is set if a number differs.
    """
    first = _first(k)
    k.compute(gpu.PROLOGUE)
    one = _loaded(k, work, first)
    other = _loaded(k, work, first + half)
    k.wait()
    k.compute(2 * RADIX)
    k.store(fail, 0, 1, (one != other).any(axis=0))


@gpu.program("fft")
def fft(
    memory: gpu.AddressSpace,
    seed: int,
    transforms: int = gpu.number(
        256, 2, multiple=lambda transforms: lcm(2, grid_of(transforms).grid[1])
    ),
    passes: int = gpu.number(10),
    forward_only: bool = False,
) -> gpu.Launches:
    """Fourier transforms, forward and backward; the first and second half have equal input.

    Arrays in the order work, chk (our choice); real and imaginary parts are random in -1..1.

    Parameters:
        transforms: of 512 numbers, 4 KiB each: 2 at least, even (the suite: 1, 8, 96 or 256 MiB);
            beyond 65,535, a multiple of the rows of blocks.
        passes: times that the host goes forward, backward and compares (the suite: 10).
        forward_only: neither backward nor a comparison, as in MGPUSim.
    """
    floats = np.random.default_rng(seed).random(transforms * POINTS, dtype=np.float32)
    half = (2 * floats - 1).view(np.complex64)
    work = memory.allocate("work", np.concatenate((half, half)))
    fail = memory.zeros("chk", 1, np.int8)
    shape = grid_of(transforms)
    for _ in range(passes):
        yield forward[shape](work, inverse=False)
        if not forward_only:
            yield backward[shape](work, inverse=True)
            yield check[grid_of(transforms // 2)](work, fail, half.size)
