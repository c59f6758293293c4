"""pathfinder: the cheapest ways through a grid, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, le

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.rodinia.pyramid import PyramidAxis
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256

Ints = DeviceArray[np.int32]


@define(kw_only=True, eq=False)
class Dynproc(Kernel):
    """Several rows in one launch: one column a thread, 256 - 2 * rows columns a block are kept.

    L source[x]; STS; barrier; for each row { 3 LDS, L wall[row][x], minimum and sum, STS; barrier;
    copy the sums in shared memory; barrier } without the copy after the last row; S result[x].
    Columns at the ends of the block drop out, one at either end in each row.  Instructions as in
    PTX of nvcc 11.8 for sm_35: 22 before the load, 31 after it, 24 a row, 6 of them for the minimum
    and the sum.

    Attributes:
        wall: (rows - 1, columns) cost of each cell but the first row's.
        source, result: (columns,) cost of the cheapest way to each cell of a row.
        columns: their number.
        start: row of the wall to begin with.
        steps: rows.
        border: rows of a full launch.
    """

    wall: Ints
    source: Ints
    result: Ints
    columns: int
    start: int
    steps: int
    border: int
    name: str = "dynproc_kernel"
    registers_per_thread: int = 16
    shared_bytes: int = 2 * 4 * BLOCK
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        x = PyramidAxis.of_block(k.tx, k.bx, BLOCK, self.steps, self.border, self.columns)
        k.compute(22)
        cost = k.load(self.source, x.position, x.inside)
        k.wait(0, x.inside)
        k.shared(1, x.inside)
        k.barrier()
        k.compute(31)
        left, right = BLOCK * k.which + x.below, BLOCK * k.which + x.above
        computed = x.inside
        for step in range(self.steps):
            computed = x.computed(step)
            k.compute(9)
            for _ in range(3):
                k.shared(1, computed)
            row = self.columns * (self.start + step)
            wall = k.load(self.wall, row + x.position, computed)
            k.wait(0, computed)
            k.compute(6, computed)
            k.shared(1, computed)
            k.barrier()
            k.compute(9)
            cheapest = np.minimum(np.minimum(cost[left], cost), cost[right])
            cost = np.where(computed, cheapest + wall, cost)
            if step < self.steps - 1:
                k.shared(1, computed)
                k.shared(1, computed)
                k.barrier()
            yield
        k.store(self.result, x.position, cost, computed)


@frozen
class PathfinderParameters:
    """Parameters of pathfinder.

    Attributes:
        columns: of the grid (the suite: 100000).
        rows: of the grid, at least 2 (the suite: 100).
        height: rows that one launch goes on (the suite: 20).
    """

    columns: int = field(default=100_000, validator=[ge(1), le(10_000_000)])
    rows: int = field(default=100, validator=[ge(2), le(10_000)])
    height: int = field(default=20, validator=[ge(1), le(BLOCK // 2 - 1)])


@program("pathfinder", PathfinderParameters)
class Pathfinder(Program):
    """The cost of the cheapest way from the first row to each cell of the last one.

    A way goes down by a row at a time, straight or to a neighbouring column.  Arrays in the order
    result 0 (the first row at the start), result 1, wall; cells cost 0 to 9 at random, as in the
    suite.

    Attributes:
        final: the result after the last launch.
    """

    def __init__(self, parameters: PathfinderParameters, seed: int) -> None:
        super().__init__("pathfinder")
        self.parameters = parameters
        size = (parameters.rows, parameters.columns)
        cells = np.random.default_rng(seed).integers(0, 10, size, dtype=np.int8).astype(np.int32)
        self.first = self.memory.allocate("result 0", cells[0])
        self.second = self.memory.allocate("result 1", np.zeros_like(cells[0]))
        self.wall = self.memory.allocate("wall", cells[1:])
        self.final = self.first

    def launches(self) -> Iterator[Launch]:
        columns, height = self.parameters.columns, self.parameters.height
        below = self.parameters.rows - 1
        grid = Shape((-(-columns // (BLOCK - 2 * height)), 1, 1), (BLOCK, 1, 1))
        source, result = self.first, self.second
        for start in range(0, below, height):
            yield Dynproc(
                shape=grid,
                wall=self.wall,
                source=source,
                result=result,
                columns=columns,
                start=start,
                steps=min(height, below - start),
                border=height,
            )
            self.final = result
            source, result = result, source
