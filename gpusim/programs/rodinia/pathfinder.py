"""pathfinder: the cheapest ways through a grid, row by row."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le

from gpusim.programs.rodinia.pyramid import Pyramid, PyramidAxis
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    Ints,
    Launches,
    Steps,
    kernel,
    program,
)

BLOCK = 256


@kernel("dynproc_kernel", registers=16, shared=2 * 4 * BLOCK, in_step=True)
def dynproc(
    k: BlockTracer, wall: Ints, source: Ints, result: Ints, pyramid: Pyramid, start: int
) -> Steps:
    """Several rows in one launch: one column a thread, 256 - 2 * rows columns a block are kept.

    L source[x]; STS; barrier; for each row { 3 LDS, L wall[row][x], minimum and sum, STS; barrier;
    copy the sums in shared memory; barrier } without the copy after the last row; S result[x].
    Columns at the ends of the block drop out, one at either end in each row.  Instructions as in
    PTX of nvcc 11.8 for sm_35: 22 before the load, 31 after it, 24 a row, 6 of them for the minimum
    and the sum.

    Takes `wall` ((rows - 1, columns) cost of each cell but the first row's), `source`, `result`
    ((columns,) cost of the cheapest way to each cell of a row), `pyramid` (rows, and columns),
    `start` (row of the wall to begin with).
    """
    x = PyramidAxis.of_block(k.tx, k.bx, BLOCK, pyramid)
    k.compute(22)
    cost = k.load(source, x.position, x.inside)
    k.wait(0, x.inside)
    k.shared(1, x.inside)
    k.barrier()
    k.compute(31)
    left, right = BLOCK * k.which + x.below, BLOCK * k.which + x.above
    computed = x.inside
    for step in range(pyramid.steps):
        computed = x.computed(step)
        k.compute(9)
        k.shared(1, computed, times=3)
        row = pyramid.length * (start + step)
        cell = k.load(wall, row + x.position, computed)
        k.wait(0, computed)
        k.compute(6, computed)
        k.shared(1, computed)
        k.barrier()
        k.compute(9)
        cheapest = np.minimum(np.minimum(cost[left], cost), cost[right])
        cost = np.where(computed, cheapest + cell, cost)
        if step < pyramid.steps - 1:
            k.shared(1, computed)
            k.shared(1, computed)
            k.barrier()
        yield
    k.store(result, x.position, cost, computed)


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
def pathfinder(memory: AddressSpace, parameters: PathfinderParameters, seed: int) -> Launches:
    """The cost of the cheapest way from the first row to each cell of the last one.

    A way goes down by a row at a time, straight or to a neighbouring column.  Arrays in the order
    result 0 (the first row at the start), result 1, wall; cells cost 0 to 9 at random, as in the
    suite.
    """
    size = (parameters.rows, parameters.columns)
    cells = np.random.default_rng(seed).integers(0, 10, size, dtype=np.int8).astype(np.int32)
    source = memory.allocate("result 0", cells[0])
    result = memory.zeros("result 1", parameters.columns, np.int32)
    wall = memory.allocate("wall", cells[1:])
    columns, height, below = parameters.columns, parameters.height, parameters.rows - 1
    blocks = -(-columns // (BLOCK - 2 * height))
    for start in range(0, below, height):
        pyramid = Pyramid(min(height, below - start), height, columns)
        yield dynproc[blocks, BLOCK](wall, source, result, pyramid, start)
        source, result = result, source
