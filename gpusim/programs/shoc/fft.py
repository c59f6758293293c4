"""fft: many transforms of 512 complex numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import PROLOGUE
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes
from gpusim.programs.tracer import BlockTracer, Shape

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

Numbers = DeviceArray[np.complex64]
Complex = NDArray[np.complex64]


def roots(points: int, rows: int, columns: int) -> Complex:
    """(rows, columns) of exp(-2 pi i * row * column / points)."""
    turns = np.outer(np.arange(rows), np.arange(columns)) / points
    found: Complex = np.exp(-2j * np.pi * turns).astype(np.complex64)
    return found


EIGHT = roots(RADIX, RADIX, RADIX)
FIRST_TWIDDLE = roots(POINTS, RADIX, THREADS)
SECOND_TWIDDLE = roots(THREADS, RADIX, RADIX)


def grid_of(blocks: int) -> Shape:
    """Blocks of 64 threads, in rows of at most 65,535."""
    rows = 1
    while blocks // rows > MOST_BLOCKS_X:
        rows *= 2
    return Shape((blocks // rows, rows, 1), (THREADS, 1, 1))


@define(kw_only=True, eq=False)
class _Transforms(Kernel):
    """A block of 64 threads for each transform; thread t has the numbers t + 64 m, m = 0..7.

    Attributes:
        work: the numbers, 512 for each transform.
    """

    work: Numbers
    in_step = True

    def _first(self, k: BlockTracer) -> Lanes:
        """(threads,) a thread's first number: m = 0."""
        first: Lanes = POINTS * (k.by * self.shape.grid[0] + k.bx) + k.tid
        return first

    def _load(self, k: BlockTracer, first: Lanes) -> Complex:
        """(8, threads) the numbers of all threads, on their way."""
        return np.stack([k.load(self.work, first + THREADS * m) for m in range(RADIX)])


@define(kw_only=True, eq=False)
class Fft512(_Transforms):
    """A transform in three stages of radix 8, in place.

    8 coalesced loads of 8 bytes; stage, twiddle, exchange; stage, twiddle, exchange; stage; 8
    stores to the same places.  An exchange through shared memory takes first the real, then the
    imaginary parts: 8 stores, barrier, 8 loads, barrier; the last barrier of the second exchange
    is left out.  The rows are padded: only the loads of the first exchange have bank conflicts,
    of two lanes each.

    Attributes:
        inverse: backwards, with a division by 512.
    """

    inverse: bool = False
    registers_per_thread: int = 32
    shared_bytes: int = 4 * RADIX * RADIX * (RADIX + 1)

    def body(self, k: BlockTracer) -> None:
        first = self._first(k)
        k.compute(START)
        values = self._load(k, first)
        k.compute(LOADED)
        k.wait()
        k.compute(RADIX_INSTRUCTIONS + TWIDDLE_INSTRUCTIONS)
        self._exchange(k, load_passes=2, last_barrier=True)
        k.compute(RADIX_INSTRUCTIONS + TWIDDLE_INSTRUCTIONS)
        self._exchange(k, load_passes=1, last_barrier=False)
        k.compute(RADIX_INSTRUCTIONS + (2 * RADIX if self.inverse else 0))
        for m, row in enumerate(self._transform(values)):
            k.store(self.work, first + THREADS * m, row)
        k.compute(STORES)

    @staticmethod
    def _exchange(k: BlockTracer, load_passes: int, last_barrier: bool) -> None:
        for barrier_after in (True, last_barrier):
            for _ in range(RADIX):
                k.shared(1)
            k.barrier()
            for _ in range(RADIX):
                k.shared(load_passes)
            if barrier_after:
                k.barrier()

    def _transform(self, values: Complex) -> Complex:
        """(8, threads) numbers [m, t] to their block's transform, [m, t] as well."""
        if self.inverse:
            values = values.conj()
        blocks = values.reshape(RADIX, -1, THREADS).swapaxes(0, 1)
        once = (EIGHT @ blocks * FIRST_TWIDDLE).reshape(-1, RADIX, RADIX, RADIX)
        twice = EIGHT @ once * SECOND_TWIDDLE
        result = (twice @ EIGHT).transpose(3, 0, 2, 1).reshape(RADIX, -1)
        return result.conj() / np.float32(POINTS) if self.inverse else result


@define(kw_only=True, eq=False)
class FftCheck(_Transforms):
    """Compares the transforms of the first half with those of the second: 16 loads, 16 comparisons.

    Attributes:
        fail: (1,) set if a number differs.
        half: numbers of half the transforms.
    """

    fail: DeviceArray[np.int8]
    half: int
    name: str = "chk512_device"
    registers_per_thread: int = 40  # our estimate: 16 numbers and their address

    def body(self, k: BlockTracer) -> None:
        first = self._first(k)
        k.compute(PROLOGUE)
        one = self._load(k, first)
        other = self._load(k, first + self.half)
        k.wait()
        k.compute(2 * RADIX)
        k.store(self.fail, 0, 1, (one != other).any(axis=0))


@frozen
class FftParameters:
    """Size and length of fft.

    Attributes:
        transforms: of 512 numbers, 4 KiB each: 2 at least, even (the suite: 1, 8, 96 or 256 MiB);
            beyond 65,535, a multiple of the rows of blocks.
        passes: times that the host goes forward, backward and compares (the suite: 10).
        forward_only: neither backward nor a comparison, as in MGPUSim.
    """

    transforms: int = field(default=256, validator=ge(2))
    passes: int = field(default=10, validator=ge(1))
    forward_only: bool = False

    @transforms.validator
    def _fits(self, _: object, transforms: int) -> None:
        x, y, _z = grid_of(transforms).grid
        if transforms % 2 or x * y != transforms:
            raise ValueError(
                f"'transforms' must be even, and beyond {MOST_BLOCKS_X} divisible into rows of "
                f"blocks: {transforms}"
            )


@program("fft", FftParameters)
class Fft(Program):
    """Fourier transforms, forward and backward; the first and second half have equal input.

    Arrays in the order work, chk (our choice); real and imaginary parts are random in -1..1.
    """

    def __init__(self, parameters: FftParameters, seed: int) -> None:
        super().__init__("fft")
        self.transforms = parameters.transforms
        self.passes = parameters.passes
        self.forward_only = parameters.forward_only
        floats = np.random.default_rng(seed).random(self.transforms * POINTS, dtype=np.float32)
        half = (2 * floats - 1).view(np.complex64)
        self.work = self.memory.allocate("work", np.concatenate((half, half)))
        self.fail = self.memory.allocate("chk", np.zeros(1, dtype=np.int8))

    def launches(self) -> Iterator[Launch]:
        shape, work = grid_of(self.transforms), self.work
        half = self.transforms // 2
        for _ in range(self.passes):
            yield Fft512(shape=shape, name="FFT512_device", work=work)
            if self.forward_only:
                continue
            yield Fft512(shape=shape, name="IFFT512_device", work=work, inverse=True)
            yield FftCheck(shape=grid_of(half), work=work, fail=self.fail, half=half * POINTS)
