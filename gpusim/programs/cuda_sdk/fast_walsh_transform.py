"""fast_walsh_transform: a dyadic convolution by three fast Walsh transforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 256
SHARED_LOG2 = 11
"""Transforms of up to 2048 points fit a block's shared memory."""

MODULATE_BLOCKS = 128


def _butterfly(values: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Two radix-2 steps at once on four values."""
    d0, d1, d2, d3 = values
    even, odd = (d0 + d2, d0 - d2), (d1 + d3, d1 - d3)
    return [even[0] + odd[0], even[0] - odd[0], even[1] + odd[1], even[1] - odd[1]]


def _first_of_four(position: gpu.Lanes, stride: int) -> gpu.Lanes:
    """Where the four elements of a butterfly begin; they are `stride` apart."""
    low = position % stride
    return 4 * (position - low) + low


@gpu.kernel("fwtBatch2Kernel", registers=20, in_step=True)
def transform_global(k: gpu.BlockTracer, data: gpu.Floats, points: int) -> None:
    """Two steps on a batch of transforms of `points` points in global memory, in place.

    Four elements a thread; the batch runs along the grid's y.  31 instructions for the thread's
    number, its transform, four places and their addresses of 64 bits (counted in the source);
    4 x L d[i + {0, s, 2s, 3s}], 13 instructions, 4 x S to the same places.
    """
    stride = points // 4
    first = points * k.by + _first_of_four(k.t, stride)
    places = [first + step * stride for step in range(4)]
    k.compute(31)
    values = [k.load(data, place) for place in places]
    k.wait()
    k.compute(13)
    for place, value in zip(places, _butterfly(values), strict=True):
        k.store(data, place, value)


@gpu.kernel("fwtBatch1Kernel", registers=15, shared=lambda points: 4 * points, in_step=True)
def transform_shared(k: gpu.BlockTracer, data: gpu.Floats, points: int) -> gpu.Steps:
    """All steps of a short transform in shared memory, in place: one transform a block.

    4 x L, stored in shared memory; radix-4 steps with strides points / 4, points / 16, ... (4
    shared loads, 20 instructions, 8 of them additions of values and the others places and the loop,
    4 shared stores, barrier each) and, for an odd logarithm, a radix-2 step; 4 x S.  Strides below
    32 have bank conflicts of 2 (stride 16) or 4 passes.
    """
    quarter = points // 4
    places = [points * k.bx + k.tid + step * quarter for step in range(4)]
    k.compute(gpu.PROLOGUE)
    values = [k.load(data, place) for place in places]
    k.wait()
    cells = np.stack([value.reshape(k.blocks, quarter) for value in values], axis=1)
    k.shared(1, times=4)
    stride = quarter
    while stride > 0:
        k.barrier()
        passes = {16: 2, 8: 4, 4: 4, 2: 4, 1: 4}.get(stride, 1)
        k.shared(passes, times=4)
        k.compute(20)
        k.shared(passes, times=4)
        fours = cells.reshape(-1, 4, stride)
        cells = np.stack(_butterfly([fours[:, step] for step in range(4)]), axis=1)
        stride //= 4
        yield
    if points.bit_length() % 2 == 0:
        k.barrier()
        for _ in range(2):
            k.shared(2, times=2)
            k.compute(4)
            k.shared(2, times=2)
        pairs = cells.reshape(-1, 2)
        cells = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1)
    k.barrier()
    results = cells.reshape(k.blocks, 4, quarter)
    for step, place in enumerate(places):
        k.shared(1)
        k.store(data, place, results[:, step].ravel())


@gpu.kernel("modulateKernel", registers=22, in_step=True)
def modulate(k: gpu.BlockTracer, data: gpu.Floats, spectrum: gpu.Floats) -> gpu.Steps:
    """The product of two spectra, scaled, in a grid-stride loop: L A, L B, S A.

    9 instructions an iteration: two products, two pointers of 64 bits, and the loop's three.
    """
    scale = np.float32(1 / data.length)
    k.compute(gpu.PROLOGUE)
    for place, where in gpu.strides(k.t, data.length, MODULATE_BLOCKS * BLOCK):
        a = k.load(data, place, where)
        b = k.load(spectrum, place, where)
        k.wait(0, where)
        k.compute(9, where)
        k.store(data, place, a * b * scale, where)
        yield


@gpu.program("fast_walsh_transform")
def fast_walsh_transform(
    memory: gpu.AddressSpace,
    seed: int,
    log2_data: int = gpu.number(21, SHARED_LOG2, 26),
    log2_kernel: int = gpu.number(7, 0, "log2_data"),
) -> gpu.Launches:
    """Transforms of the data and of the padded kernel, their product, and its transform.

    Arrays in the order kernel, data (random values from 0 to 1).

    Parameters:
        log2_data: logarithm of the points (GPGPU-Sim's run lines: 21 and 19; the stock sample:
            23).
        log2_kernel: logarithm of the convolution kernel's length (the sample: 7).
    """
    rng = np.random.default_rng(seed)
    points, length = 1 << log2_data, 1 << log2_kernel
    padded = np.zeros(points, dtype=np.float32)
    padded[:length] = rng.random(length, dtype=np.float32)
    filtering = memory.allocate("kernel", padded)
    data = memory.allocate("data", rng.random(points, dtype=np.float32))
    yield from _transform(data)
    yield from _transform(filtering)
    yield modulate[MODULATE_BLOCKS, BLOCK](data, filtering)
    yield from _transform(data)


def _transform(data: gpu.Floats) -> gpu.Launches:
    points, batch = data.length, 1
    while points > 1 << SHARED_LOG2:
        yield transform_global[(points // (4 * BLOCK), batch), BLOCK](data, points)
        points, batch = points // 4, batch * 4
    yield transform_shared[batch, points // 4](data, points)
