"""simple_convolution: a picture folded with a small mask, a pixel a thread."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu

BLOCK = 64
START, BEGIN, ROW, PIXEL, SUM, ROW_END, END = 34, 21, 5, 5, 17, 7, 9
"""Instructions of GCN3 as MGPUSim has them, scalar loads and waits included: to the comparison; to
the first row of the mask; before a row; before a pixel's load and after it; after a row; before the
store."""


@frozen
class Picture:
    """Arrays of simple_convolution.

    Attributes:
        padded: (height + side - 1, width + side - 1) the picture with a margin.
        mask: (side, side).
        result: (height, width).
        width, height, side: their sizes.
    """

    padded: gpu.Words
    mask: gpu.Floats
    result: gpu.Ints
    width: int
    height: int
    side: int


@gpu.kernel("simpleNonSeparableConvolution", registers=13, block=BLOCK, in_step=True)
def fold(k: gpu.BlockTracer, of: Picture) -> gpu.Steps:
    """The sum of mask[m][n] times padded[y + m][x + n], rounded.

    Weights are scalar loads in GCN3, which make no traffic here.  Threads are as many as there are
    pixels with the margin; those beyond the picture end at once.
    """
    y, x = np.divmod(k.t, of.width)
    inside = y < of.height
    k.compute(START)
    k.compute(BEGIN, inside)
    total = np.zeros(k.threads, dtype=np.float32)
    wide = of.width + of.side - 1
    for m, weights in enumerate(of.mask.data.reshape(of.side, of.side)):
        k.compute(ROW, inside)
        for n, weight in enumerate(weights):
            k.compute(PIXEL, inside)
            pixel = k.fetch(of.padded, (y + m) * wide + x + n, inside)
            k.compute(SUM, inside)
            total += weight * pixel.astype(np.float32)
        k.compute(ROW_END, inside)
        yield
    k.compute(END, inside)
    k.store(of.result, k.t, (total + np.float32(0.5)).astype(np.int32), inside)
    k.compute(1)


@gpu.program("simple_convolution")
def simple_convolution(
    memory: gpu.AddressSpace,
    seed: int,
    width: int = gpu.number(254, 1, 16384),
    height: int = gpu.number(254, 1, 16384),
    side: int = gpu.number(3, 1, 64),
) -> gpu.Launches:
    """A picture of random numbers from 0 to 255, and random weights from 0 to 1 (our choice).

    Arrays in the order input (with its margin), output, mask.

    Parameters:
        width, height: of the picture (MGPUSim: 254).
        side: of the mask (MGPUSim: 3).
    """
    rng = np.random.default_rng(seed)
    pixels = (width + side - 1) * (height + side - 1)
    padded = memory.allocate("input", rng.integers(0, 256, pixels, dtype=np.uint32))
    result = memory.zeros("output", width * height, np.int32)
    mask = memory.allocate("mask", rng.random(side * side, dtype=np.float32))
    yield fold[pixels](Picture(padded, mask, result, width, height, side))
