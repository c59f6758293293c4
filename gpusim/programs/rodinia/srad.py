"""srad: speckles are smoothed out of an image, edges stay (srad_v2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Lanes
from gpusim.programs.tracer import BlockTracer, Shape

TILE = 16
SPECKLE = 128
"""Rows and columns of the corner whose noise the host measures."""
LAMBDA = 0.5
"""Size of a step."""

ADDRESSES = 30
"""Instructions for the thread's pixel, its four neighbours and their addresses of 64 bits (counted
in the source)."""

Floats = DeviceArray[np.float32]
Values = NDArray[np.float32]


@frozen
class Side:
    """Pixels beside a tile.

    Attributes:
        index: (threads,) of the pixel beside the tile.
        within: (threads,) of the pixel next to it in the tile.
        at_border: whether the image ends here; of blocks in step (threads,).
    """

    index: Lanes
    within: Lanes
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


@define(kw_only=True, eq=False)
class _Image(Kernel):
    """A kernel with one thread a pixel, in tiles of 16 x 16, whose rows a warp accesses in twos.

    Pixels beside the tile are loaded, too: all threads of a column load the one above or below the
    tile, all of a row the one left or right of it.  Shared memory is without bank conflicts.  The
    branches of the threads at the tile's edge are taken as one (our choice).

    Attributes:
        image: `J`, (rows * columns,).
        diffusion: `C`, likewise.
        north, south, west, east: differences to the four neighbours, likewise.
        columns: of the image.
    """

    image: Floats
    diffusion: Floats
    north: Floats
    south: Floats
    west: Floats
    east: Floats
    columns: int
    in_step = True

    def _beside(self, k: BlockTracer, array: Floats, sides: list[Side]) -> list[Values]:
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
                values[number] = np.where(where, k.load(array, side.within, where), values[number])
                k.wait(0, where)
                k.shared(1, where)
        k.barrier()
        return values

    def _own(self, k: BlockTracer, array: Floats) -> Values:
        """L the tile's pixels; STS; barrier."""
        value = k.load(array, self._pixel(k))
        k.wait()
        k.shared(1)
        k.barrier()
        return value

    def _pixel(self, k: BlockTracer) -> Lanes:
        pixel: Lanes = self.columns * (TILE * k.by + k.ty) + TILE * k.bx + k.tx
        return pixel

    def _south(self, k: BlockTracer) -> Side:
        """Below the tile, the same for all rows of threads."""
        index = self.columns * TILE * (k.by + 1) + TILE * k.bx + k.tx
        return Side(index, index - self.columns, k.by == self.shape.grid[1] - 1)

    def _east(self, k: BlockTracer) -> Side:
        """Right of the tile, the same for all columns of threads."""
        index = self.columns * (TILE * k.by + k.ty) + TILE * (k.bx + 1)
        return Side(index, index - 1, k.bx == self.shape.grid[0] - 1)


@define(kw_only=True, eq=False)
class Srad1(_Image):
    """Differences to the neighbours, and the diffusion coefficient of each pixel.

    `ADDRESSES` instructions; L J north and south of the tile; barrier; L J west and east of it;
    barrier; L J; barrier; 5 LDS, about 145 instructions with four divisions and five addresses,
    STS; barrier; LDS; S C, E, W, S, N.

    Attributes:
        noise: squared coefficient of variation in the speckle, `q0sqr`.
    """

    noise: np.float32
    name: str = "srad_cuda_1"
    registers_per_thread: int = 22
    shared_bytes: int = 6 * 4 * TILE * TILE

    def body(self, k: BlockTracer) -> None:
        k.compute(ADDRESSES)
        north, south = self._beside(k, self.image, [self._north(k), self._south(k)])
        west, east = self._beside(k, self.image, [self._west(k), self._east(k)])
        own = self._own(k, self.image)
        for _ in range(5):
            k.shared(1)
        k.compute(145)
        k.shared(1)
        k.barrier()
        k.shared(1)
        n = shifted(own, north, -1, 0) - own
        s = shifted(own, south, 1, 0) - own
        w = shifted(own, west, 0, -1) - own
        e = shifted(own, east, 0, 1) - own
        pixel = self._pixel(k)
        k.store(self.diffusion, pixel, self._coefficient(own, n, s, w, e))
        k.store(self.east, pixel, e)
        k.store(self.west, pixel, w)
        k.store(self.south, pixel, s)
        k.store(self.north, pixel, n)

    def _coefficient(self, own: Values, n: Values, s: Values, w: Values, e: Values) -> Values:
        """Near 1 where the image varies as the speckle does, less at edges."""
        gradient = (n * n + s * s + w * w + e * e) / (own * own)
        laplacian = (n + s + w + e) / own
        variation = (gradient / 2 - laplacian * laplacian / 16) / (1 + laplacian / 4) ** 2
        excess = (variation - self.noise) / (self.noise * (1 + self.noise))
        coefficient: Values = np.clip(1 / (1 + excess), 0, 1)
        return coefficient

    def _north(self, k: BlockTracer) -> Side:
        """Above the tile, the same for all rows of threads."""
        index = self.columns * (TILE * k.by - 1) + TILE * k.bx + k.tx
        return Side(index, index + self.columns, k.by == 0)

    def _west(self, k: BlockTracer) -> Side:
        """Left of the tile, the same for all columns of threads."""
        index = self.columns * (TILE * k.by + k.ty) + TILE * k.bx - 1
        return Side(index, index + 1, k.bx == 0)


@define(kw_only=True, eq=False)
class Srad2(_Image):
    """Every pixel takes a step towards its neighbours.

    `ADDRESSES` instructions; L J; barrier; L C south of the tile; barrier; L C east of it; barrier;
    L C; barrier; 4 LDS; L N, S, W, E; 24 instructions, 15 of them for addresses, STS; barrier; LDS;
    S J.
    """

    name: str = "srad_cuda_2"
    registers_per_thread: int = 28
    shared_bytes: int = 5 * 4 * TILE * TILE

    def body(self, k: BlockTracer) -> None:
        k.compute(ADDRESSES)
        image = self._own(k, self.image)
        (below,) = self._beside(k, self.diffusion, [self._south(k)])
        (right,) = self._beside(k, self.diffusion, [self._east(k)])
        own = self._own(k, self.diffusion)
        for _ in range(4):
            k.shared(1)
        pixel = self._pixel(k)
        north, south, west, east = (
            k.load(array, pixel) for array in (self.north, self.south, self.west, self.east)
        )
        k.wait()
        k.compute(24)
        k.shared(1)
        k.barrier()
        k.shared(1)
        flow = own * (north + west)
        flow += shifted(own, below, 1, 0) * south + shifted(own, right, 0, 1) * east
        image += np.float32(LAMBDA / 4) * flow
        k.store(self.image, pixel, image)


@frozen
class SradParameters:
    """Size and length of srad.

    Attributes:
        rows: of the image, a multiple of 16 and at least 32 (the suite: 2048).
        columns: likewise.
        iterations: pairs of launches (the suite: 2).
    """

    rows: int = field(default=2048, validator=[ge(2 * TILE), le(16384)])
    columns: int = field(default=2048, validator=[ge(2 * TILE), le(16384)])
    iterations: int = field(default=2, validator=ge(1))

    def __attrs_post_init__(self) -> None:
        for name in ("rows", "columns"):
            if (value := getattr(self, name)) % TILE:
                raise ValueError(f"{name!r} must be a multiple of {TILE}: {value}")


@program("srad", SradParameters)
class Srad(Program):
    """Speckle-reducing anisotropic diffusion; srad_v2 of the suite.

    Arrays in the order J, C, E, W, S, N.  J is e to the power of random numbers in 0..1, as in the
    suite.  Before each iteration the host measures the noise of J in a corner of 128 x 128 pixels,
    or what the image has of it.
    """

    def __init__(self, parameters: SradParameters, seed: int) -> None:
        super().__init__("srad")
        self.parameters = parameters
        size = parameters.rows * parameters.columns
        pixels = np.exp(np.random.default_rng(seed).random(size, dtype=np.float32))
        self.image = self.memory.allocate("J", pixels)
        self.diffusion, self.east, self.west, self.south, self.north = (
            self.memory.allocate(name, np.zeros_like(pixels)) for name in "CEWSN"
        )

    def launches(self) -> Iterator[Launch]:
        rows, columns = self.parameters.rows, self.parameters.columns
        shape = Shape((columns // TILE, rows // TILE, 1), (TILE, TILE, 1))
        speckle = self.image.data.reshape(rows, columns)[:SPECKLE, :SPECKLE]
        for _ in range(self.parameters.iterations):
            noise = np.float32(speckle.var(dtype=np.float64) / speckle.mean(dtype=np.float64) ** 2)
            yield Srad1(
                shape=shape,
                image=self.image,
                diffusion=self.diffusion,
                north=self.north,
                south=self.south,
                west=self.west,
                east=self.east,
                columns=columns,
                noise=noise,
            )
            yield Srad2(
                shape=shape,
                image=self.image,
                diffusion=self.diffusion,
                north=self.north,
                south=self.south,
                west=self.west,
                east=self.east,
                columns=columns,
            )
