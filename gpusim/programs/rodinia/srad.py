"""srad: speckles are smoothed out of an image, edges stay (srad_v2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

TILE = 16
SPECKLE = 128
"""Rows and columns of the corner whose noise the host measures."""
LAMBDA = 0.5
"""Size of a step."""

ADDRESSES = 30
"""Instructions for the thread's pixel, its four neighbours and their addresses of 64 bits (counted
in the source)."""
Values = NDArray[np.float32]


@frozen
class Side:
    """Pixels beside a tile.

    Attributes:
        index: (threads,) of the pixel beside the tile.
        within: (threads,) of the pixel next to it in the tile.
        at_border: whether the image ends here; of blocks in step (threads,).
    """

    index: gpu.Lanes
    within: gpu.Lanes
    at_border: Any


def shifted(tile: Values, beside: Values, row: int, column: int) -> Values:
    """(threads,) each pixel's neighbour, one row or column away: in the tile, or beside it."""
    inner, edge = tile.reshape(-1, TILE, TILE), beside.reshape(-1, TILE, TILE)
    if row < 0:
        parts = edge[:, :1], inner[:, :-1]
    elif row > 0:
        parts = inner[:, 1:], edge[:, -1:]
    elif column < 0:
        parts = edge[:, :, :1], inner[:, :, :-1]
    else:
        parts = inner[:, :, 1:], edge[:, :, -1:]
    return np.concatenate(parts, axis=1 if row else 2).reshape(-1)


@frozen
class Image:
    """An image, and what is computed of each pixel, in tiles whose rows a warp accesses in twos.

    Attributes:
        image: `J`, (rows * columns,).
        diffusion: `C`, (rows * columns,).
        north, south, west, east: (rows * columns,) differences to the four neighbours.
        columns: of the image.
    """

    image: gpu.Floats
    diffusion: gpu.Floats
    north: gpu.Floats
    south: gpu.Floats
    west: gpu.Floats
    east: gpu.Floats
    columns: int

    def pixel(self, k: gpu.BlockTracer) -> gpu.Lanes:
        """(threads,) the threads' pixels."""
        found: gpu.Lanes = self.columns * (TILE * k.by + k.ty) + TILE * k.bx + k.tx
        return found

    def own(self, k: gpu.BlockTracer, array: gpu.Floats) -> Values:
        """L the tile's pixels; STS; barrier."""
        value = k.fetch(array, self.pixel(k))
        k.shared(1)
        k.barrier()
        return value

    def above(self, k: gpu.BlockTracer) -> Side:
        """Above the tile, the same for all rows of threads."""
        index = self.columns * (TILE * k.by - 1) + TILE * k.bx + k.tx
        return Side(index, index + self.columns, k.by == 0)

    def below(self, k: gpu.BlockTracer) -> Side:
        """Below the tile, the same for all rows of threads."""
        index = self.columns * TILE * (k.by + 1) + TILE * k.bx + k.tx
        return Side(index, index - self.columns, k.by == k.shape.grid[1] - 1)

    def left(self, k: gpu.BlockTracer) -> Side:
        """Left of the tile, the same for all columns of threads."""
        index = self.columns * (TILE * k.by + k.ty) + TILE * k.bx - 1
        return Side(index, index + 1, k.bx == 0)

    def right(self, k: gpu.BlockTracer) -> Side:
        """Right of the tile, the same for all columns of threads."""
        index = self.columns * (TILE * k.by + k.ty) + TILE * (k.bx + 1)
        return Side(index, index - 1, k.bx == k.shape.grid[0] - 1)


def _beside(k: gpu.BlockTracer, array: gpu.Floats, *sides: Side) -> list[Values]:
    """L the pixels of all sides; STS; L and STS the border's own pixels; barrier.

    The first loads may leave the array, which those of the real kernel do: ours then take the
    border's pixels both times (our choice).
    """
    values = []
    for side in sides:
        outside = (side.index < 0) | (side.index >= array.length)
        values.append(k.load(array, np.where(outside, side.within, side.index)))
    k.wait()
    for _ in sides:
        k.shared(1)
    for number, side in enumerate(sides):
        where = np.full(k.threads, side.at_border)
        if where.any():
            values[number] = np.where(where, k.fetch(array, side.within, where), values[number])
            k.shared(1, where)
    k.barrier()
    return values


def _coefficient(
    own: Values, differences: tuple[Values, Values, Values, Values], noise: np.float32
) -> Values:
    """Near 1 where the image varies as the speckle does, less at edges."""
    n, s, w, e = differences
    gradient = (n * n + s * s + w * w + e * e) / (own * own)
    laplacian = (n + s + w + e) / own
    variation = (gradient / 2 - laplacian * laplacian / 16) / (1 + laplacian / 4) ** 2
    excess = (variation - noise) / (noise * (1 + noise))
    coefficient: Values = np.clip(1 / (1 + excess), 0, 1)
    return coefficient


@gpu.kernel("srad_cuda_1", registers=22, shared=6 * 4 * TILE * TILE, in_step=True)
def differentiate(k: gpu.BlockTracer, of: Image, noise: np.float32) -> None:
    """Differences to the neighbours, and the diffusion coefficient of each pixel.

    `ADDRESSES` instructions; L J north and south of the tile; barrier; L J west and east of it;
    barrier; L J; barrier; 5 LDS, about 145 instructions with four divisions and five addresses,
    STS; barrier; LDS; S C, E, W, S, N.

    Takes `noise` (squared coefficient of variation in the speckle, `q0sqr`).
    """
    k.compute(ADDRESSES)
    north, south = _beside(k, of.image, of.above(k), of.below(k))
    west, east = _beside(k, of.image, of.left(k), of.right(k))
    own = of.own(k, of.image)
    k.shared(1, times=5)
    k.compute(145)
    k.shared(1)
    k.barrier()
    k.shared(1)
    n = shifted(own, north, -1, 0) - own
    s = shifted(own, south, 1, 0) - own
    w = shifted(own, west, 0, -1) - own
    e = shifted(own, east, 0, 1) - own
    pixel = of.pixel(k)
    k.store(of.diffusion, pixel, _coefficient(own, (n, s, w, e), noise))
    for array, difference in ((of.east, e), (of.west, w), (of.south, s), (of.north, n)):
        k.store(array, pixel, difference)


@gpu.kernel("srad_cuda_2", registers=28, shared=5 * 4 * TILE * TILE, in_step=True)
def diffuse(k: gpu.BlockTracer, of: Image) -> None:
    """Every pixel takes a step towards its neighbours.

    `ADDRESSES` instructions; L J; barrier; L C south of the tile; barrier; L C east of it; barrier;
    L C; barrier; 4 LDS; L N, S, W, E; 24 instructions, 15 of them for addresses, STS; barrier; LDS;
    S J.
    """
    k.compute(ADDRESSES)
    image = of.own(k, of.image)
    (below,) = _beside(k, of.diffusion, of.below(k))
    (right,) = _beside(k, of.diffusion, of.right(k))
    own = of.own(k, of.diffusion)
    k.shared(1, times=4)
    pixel = of.pixel(k)
    north, south, west, east = (
        k.load(array, pixel) for array in (of.north, of.south, of.west, of.east)
    )
    k.wait()
    k.compute(24)
    k.shared(1)
    k.barrier()
    k.shared(1)
    flow = own * (north + west)
    flow += shifted(own, below, 1, 0) * south + shifted(own, right, 0, 1) * east
    image += np.float32(LAMBDA / 4) * flow
    k.store(of.image, pixel, image)


@gpu.program("srad")
def srad(
    memory: gpu.AddressSpace,
    seed: int,
    rows: int = gpu.number(2048, 2 * TILE, 16384, multiple=TILE),
    columns: int = gpu.number(2048, 2 * TILE, 16384, multiple=TILE),
    iterations: int = gpu.number(2),
) -> gpu.Launches:
    """Speckle-reducing anisotropic diffusion; srad_v2 of the suite.

    Arrays in the order J, C, E, W, S, N.  J is e to the power of random numbers in 0..1, as in the
    suite.  Before each iteration the host measures the noise of J in a corner of 128 x 128 pixels,
    or what the image has of it.

    Parameters:
        rows: of the image, a multiple of 16 and at least 32 (the suite: 2048).
        columns: of the image, like the rows.
        iterations: pairs of launches (the suite: 2).
    """
    pixels = np.exp(np.random.default_rng(seed).random(rows * columns, dtype=np.float32))
    image = memory.allocate("J", pixels)
    diffusion, east, west, south, north = (
        memory.zeros(name, rows * columns, np.float32) for name in "CEWSN"
    )
    of = Image(image, diffusion, north, south, west, east, columns)
    shape = gpu.Shape((columns // TILE, rows // TILE, 1), (TILE, TILE, 1))
    speckle = image.data.reshape(rows, columns)[:SPECKLE, :SPECKLE]
    for _ in range(iterations):
        noise = np.float32(speckle.var(dtype=np.float64) / speckle.mean(dtype=np.float64) ** 2)
        yield differentiate[shape](of, noise)
        yield diffuse[shape](of)
