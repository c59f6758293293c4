"""fast_walsh_transform: a dyadic convolution by three fast Walsh transforms."""

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
from gpusim.programs.lane_record import Lanes
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
SHARED_LOG2 = 11
"""Transforms of up to 2048 points fit a block's shared memory."""

MODULATE_BLOCKS = 128

Floats = DeviceArray[np.float32]


def _butterfly(values: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Two radix-2 steps at once on four values."""
    d0, d1, d2, d3 = values
    even, odd = (d0 + d2, d0 - d2), (d1 + d3, d1 - d3)
    return [even[0] + odd[0], even[0] - odd[0], even[1] + odd[1], even[1] - odd[1]]


def _first_of_four(position: Lanes, stride: int) -> Lanes:
    """Where the four elements of a butterfly begin; they are `stride` apart."""
    low = position % stride
    return 4 * (position - low) + low


@define(kw_only=True, eq=False)
class WalshGlobal(Kernel):
    """Two steps on a batch of transforms in global memory: four elements a thread.

    31 instructions for the thread's number, its transform, four places and their addresses of 64
    bits (counted in the source); 4 x L d[i + {0, s, 2s, 3s}], 13 instructions, 4 x S to the same
    places.

    Attributes:
        data: (batch * points,) transformed in place.
        points: of one transform; the batch runs along the grid's y.
    """

    data: Floats
    points: int
    name: str = "fwtBatch2Kernel"
    registers_per_thread: int = 20
    in_step = True

    def body(self, k: BlockTracer) -> None:
        stride = self.points // 4
        first = self.points * k.by + _first_of_four(k.t, stride)
        places = [first + step * stride for step in range(4)]
        k.compute(31)
        values = [k.load(self.data, place) for place in places]
        k.wait()
        k.compute(13)
        for place, value in zip(places, _butterfly(values), strict=True):
            k.store(self.data, place, value)


@define(kw_only=True, eq=False)
class WalshShared(Kernel):
    """All steps of a short transform in shared memory: one transform a block.

    4 x L, stored in shared memory; radix-4 steps with strides points / 4, points / 16, ... (4
    shared loads, 20 instructions, 8 of them additions of values and the others places and the loop,
    4 shared stores, barrier each) and, for an odd logarithm, a radix-2 step; 4 x S.  Strides below
    32 have bank conflicts of 2 (stride 16) or 4 passes.

    Attributes:
        data: (batch * points,) transformed in place.
        points: of one transform.
    """

    data: Floats
    points: int
    name: str = "fwtBatch1Kernel"
    registers_per_thread: int = 15
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        quarter = self.points // 4
        places = [self.points * k.bx + k.tid + step * quarter for step in range(4)]
        k.compute(PROLOGUE)
        values = [k.load(self.data, place) for place in places]
        k.wait()
        cells = np.stack([value.reshape(k.blocks, quarter) for value in values], axis=1)
        for _ in range(4):
            k.shared(1)
        stride = quarter
        while stride > 0:
            k.barrier()
            passes = {16: 2, 8: 4, 4: 4, 2: 4, 1: 4}.get(stride, 1)
            for _ in range(4):
                k.shared(passes)
            k.compute(20)
            for _ in range(4):
                k.shared(passes)
            fours = cells.reshape(-1, 4, stride)
            cells = np.stack(_butterfly([fours[:, step] for step in range(4)]), axis=1)
            stride //= 4
            yield
        if self.points.bit_length() % 2 == 0:
            k.barrier()
            for _ in range(2):
                for passes in (2, 2):
                    k.shared(passes)
                k.compute(4)
                for passes in (2, 2):
                    k.shared(passes)
            pairs = cells.reshape(-1, 2)
            cells = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1)
        k.barrier()
        results = cells.reshape(k.blocks, 4, quarter)
        for step, place in enumerate(places):
            k.shared(1)
            k.store(self.data, place, results[:, step].ravel())


@define(kw_only=True, eq=False)
class Modulate(Kernel):
    """The product of two spectra, scaled, in a grid-stride loop: L A, L B, S A.

    9 instructions an iteration: two products, two pointers of 64 bits, and the loop's three.

    Attributes:
        data, spectrum: (points,) A and B.
    """

    data: Floats
    spectrum: Floats
    name: str = "modulateKernel"
    registers_per_thread: int = 22
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        points = self.data.length
        scale = np.float32(1 / points)
        k.compute(PROLOGUE)
        place = k.t
        while (where := place < points).any():
            a = k.load(self.data, place, where)
            b = k.load(self.spectrum, place, where)
            k.wait(0, where)
            k.compute(9, where)
            k.store(self.data, place, a * b * scale, where)
            place = place + MODULATE_BLOCKS * BLOCK
            yield


@frozen
class WalshParameters:
    """Parameters of fast_walsh_transform.

    Attributes:
        log2_data: logarithm of the points (GPGPU-Sim's run lines: 21 and 19; the stock sample:
            23).
        log2_kernel: logarithm of the convolution kernel's length (the sample: 7).
    """

    log2_data: int = field(default=21, validator=[ge(SHARED_LOG2), le(26)])
    log2_kernel: int = field(default=7, validator=ge(0))

    @log2_kernel.validator
    def _fits(self, _: object, log2_kernel: int) -> None:
        if log2_kernel > self.log2_data:
            raise ValueError(
                f"'log2_kernel' must be at most log2_data = {self.log2_data}: {log2_kernel}"
            )


@program("fast_walsh_transform", WalshParameters)
class FastWalshTransform(Program):
    """Transforms of the data and of the padded kernel, their product, and its transform.

    Arrays in the order kernel, data (random values from 0 to 1).
    """

    def __init__(self, parameters: WalshParameters, seed: int) -> None:
        super().__init__("fast_walsh_transform")
        rng = np.random.default_rng(seed)
        self.points = 1 << parameters.log2_data
        kernel = np.zeros(self.points, dtype=np.float32)
        length = 1 << parameters.log2_kernel
        kernel[:length] = rng.random(length, dtype=np.float32)
        self.kernel = self.memory.allocate("kernel", kernel)
        self.data = self.memory.allocate("data", rng.random(self.points, dtype=np.float32))

    def launches(self) -> Iterator[Launch]:
        yield from self._transform(self.data)
        yield from self._transform(self.kernel)
        yield Modulate(
            shape=Shape((MODULATE_BLOCKS, 1, 1), (BLOCK, 1, 1)),
            data=self.data,
            spectrum=self.kernel,
        )
        yield from self._transform(self.data)

    def _transform(self, data: Floats) -> Iterator[Launch]:
        points, batch = self.points, 1
        while points > 1 << SHARED_LOG2:
            grid = (points // (4 * BLOCK), batch, 1)
            yield WalshGlobal(shape=Shape(grid, (BLOCK, 1, 1)), data=data, points=points)
            points, batch = points // 4, batch * 4
        yield WalshShared(
            shape=Shape((batch, 1, 1), (points // 4, 1, 1)),
            data=data,
            points=points,
            shared_bytes=4 * points,
        )
