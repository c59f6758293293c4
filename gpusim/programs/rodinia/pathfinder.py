"""pathfinder: the cheapest ways through a grid, row by row."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu
from gpusim.programs.rodinia.pyramid import Pyramid, PyramidAxis

BLOCK = 256


@gpu.kernel("dynproc_kernel", registers=16, shared=2 * 4 * BLOCK, in_step=True)
def dynproc(
    k: gpu.BlockTracer,
    wall: gpu.Ints,
    source: gpu.Ints,
    result: gpu.Ints,
    pyramid: Pyramid,
    start: int,
) -> gpu.Steps:
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
    cost = k.fetch(source, x.position, x.inside)
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
        cell = k.fetch(wall, row + x.position, computed)
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


@gpu.program("pathfinder")
def pathfinder(
    memory: gpu.AddressSpace,
    seed: int,
    columns: int = gpu.number(100_000, 1, 10_000_000),
    rows: int = gpu.number(100, 2, 10_000),
    height: int = gpu.number(20, 1, BLOCK // 2 - 1),
) -> gpu.Launches:
    """The cost of the cheapest way from the first row to each cell of the last one.

    A way goes down by a row at a time, straight or to a neighbouring column.  Arrays in the order
    result 0 (the first row at the start), result 1, wall; cells cost 0 to 9 at random, as in the
    suite.

    Parameters:
        columns: of the grid (the suite: 100000).
        rows: of the grid, at least 2 (the suite: 100).
        height: rows that one launch goes on (the suite: 20).
    """
    size = (rows, columns)
    cells = np.random.default_rng(seed).integers(0, 10, size, dtype=np.int8).astype(np.int32)
    source = memory.allocate("result 0", cells[0])
    result = memory.zeros("result 1", columns, np.int32)
    wall = memory.allocate("wall", cells[1:])
    below = rows - 1
    blocks = -(-columns // (BLOCK - 2 * height))
    for start in range(0, below, height):
        pyramid = Pyramid(min(height, below - start), height, columns)
        yield dynproc[blocks, BLOCK](wall, source, result, pyramid, start)
        source, result = result, source
