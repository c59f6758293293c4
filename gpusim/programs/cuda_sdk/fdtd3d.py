"""fdtd3d: finite differences of order 8 on a volume, plane by plane."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, in_, le
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer, Shape

RADIUS = 4
WIDTH = 32
"""Columns of a block."""
PADDING = 128 // 4 - RADIUS
"""Words in front of a volume, so that the inner part of each row begins at a line."""

COEFFICIENTS = (0.1,) * (RADIUS + 1)
"""Weights by distance, as in the sample."""

Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class FiniteDifferences(Kernel):
    """One time step: a block marches along z with a tile of columns, 32 along x, by the lanes.

    Before the march: 8 loads, a plane apart.  For each plane: L the plane 4 ahead; barrier; the
    threads with ty < 4 load the halo rows before and behind, those with tx < 4 the halo columns
    (2 loads each); all in shared memory; barrier; 16 shared loads and 25 FMA (the 8 values along z
    are in registers), 10 more for two addresses and their step to the next plane (the loop is
    unrolled); S.  Coefficients lie in constant memory: no traffic.  Registers are our choice.

    Attributes:
        source, result: volumes with a halo of 4 on all sides, after `PADDING` words.
        width, height, depth: of the inner part.
    """

    source: Floats
    result: Floats
    width: int
    height: int
    depth: int
    name: str = "FiniteDifferencesKernel"
    registers_per_thread: int = 40
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        x, y = WIDTH * k.bx + k.tx, self.shape.block[1] * k.by + k.ty
        pitch = self.width + 2 * RADIUS
        plane = pitch * (self.height + 2 * RADIUS)
        readable = (x < self.width + RADIUS) & (y < self.height + RADIUS)
        inside = (x < self.width) & (y < self.height)
        column = PADDING + (y + RADIUS) * pitch + x + RADIUS
        k.compute(20)
        for z in range(2 * RADIUS):
            k.load(self.source, column + z * plane, readable)
        for z in range(self.depth):
            here = column + (z + RADIUS) * plane
            k.load(self.source, here + RADIUS * plane, readable)
            k.barrier()
            self._load_halo(k, here, pitch, readable)
            k.wait()
            k.shared(1)
            k.barrier()
            for _ in range(4 * RADIUS):
                k.shared(1)
            k.compute(35)
            k.store(self.result, here, self._value(here, (1, pitch, plane), inside), inside)
            yield

    def _load_halo(
        self, k: BlockTracer, here: NDArray[np.int64], pitch: int, readable: Mask
    ) -> None:
        """The rows and columns around the block's tile."""
        rows = readable & (k.ty < RADIUS)
        columns = readable & (k.tx < RADIUS)
        for where, step in (
            (rows, -RADIUS * pitch),
            (rows, self.shape.block[1] * pitch),
            (columns, -RADIUS),
            (columns, WIDTH),
        ):
            there = here + step
            k.load(self.source, there, where & (there < self.source.length))
            k.shared(1, where)

    def _value(
        self, here: NDArray[np.int64], steps: tuple[int, int, int], inside: Mask
    ) -> NDArray[np.float32]:
        """The weighted sum of each point and its 24 neighbours; 0 outside."""
        at = here[inside]
        data = self.source.data
        total = COEFFICIENTS[0] * data[at]
        for distance in range(1, RADIUS + 1):
            for step in steps:
                pair = data[at - distance * step] + data[at + distance * step]
                total = total + COEFFICIENTS[distance] * pair
        value = np.zeros(len(here), dtype=np.float32)
        value[inside] = total
        return value


@frozen
class FdtdParameters:
    """Parameters of fdtd3d.

    Attributes:
        width, height, depth: points in each direction (the sample: up to 376 each).
        steps: time steps (the sample: 5).
        block_height: rows of a block, 8 or 16 (the sample: what registers allow, up to 16).
    """

    width: int = field(default=376, validator=[ge(1), le(1024)])
    height: int = field(default=376, validator=[ge(1), le(1024)])
    depth: int = field(default=376, validator=[ge(1), le(1024)])
    steps: int = field(default=5, validator=ge(1))
    block_height: int = field(default=16, validator=in_((8, 16)))


@program("fdtd3d", FdtdParameters)
class Fdtd3d(Program):
    """Time steps from one volume into the other, in turn.

    Both volumes begin with the same random values, halo included, in the order in, out.
    """

    def __init__(self, parameters: FdtdParameters, seed: int) -> None:
        super().__init__("fdtd3d")
        self.parameters = parameters
        self.outer = tuple(
            size + 2 * RADIUS for size in (parameters.depth, parameters.height, parameters.width)
        )
        values = np.random.default_rng(seed).random(
            PADDING + int(np.prod(self.outer)), dtype=np.float32
        )
        self.volumes = [self.memory.allocate(name, values) for name in ("in", "out")]

    def launches(self) -> Iterator[Launch]:
        sizes = self.parameters
        rows = sizes.block_height
        grid = (-(-sizes.width // WIDTH), -(-sizes.height // rows), 1)
        source, result = self.volumes
        for _ in range(sizes.steps):
            yield FiniteDifferences(
                shape=Shape(grid, (WIDTH, rows, 1)),
                source=source,
                result=result,
                width=sizes.width,
                height=sizes.height,
                depth=sizes.depth,
                shared_bytes=4 * (WIDTH + 2 * RADIUS) * (rows + 2 * RADIUS),
            )
            source, result = result, source
