"""hetero_mark_pagerank: ranks as a sparse matrix-vector product, a wavefront a row."""

from __future__ import annotations

import numpy as np

from gpusim.programs import writing as gpu

WAVEFRONT = 64
"""Threads of a block; with warps of 32 it is two warps."""


@gpu.kernel("PageRankUpdateGpu", registers=32, shared=4 * WAVEFRONT, in_step=True)
def multiply_row(
    k: gpu.BlockTracer, row: gpu.Ints, col: gpu.Ints, val: gpu.Floats, x: gpu.Floats, y: gpu.Floats
) -> gpu.Steps:
    """The sum y[r] of val * x[col] over row r, for block r.

    All lanes clear y[r] and read the row's bounds; entries are coalesced, x is gathered; partial
    sums lie in shared memory and are added up in a tree of 6 steps, which lane 0 writes.  A
    wavefront whose row has 1 to 64 entries has 151 instructions, as in MGPUSim; where they stand,
    and registers, are our choice.

    Takes `row` ((rows + 1,) where each row's entries start), `col` ((entries,) their columns),
    `val` ((entries,) their values), `x`, `y` ((rows,) ranks before and after).
    """
    lane = k.tx
    k.compute(32)
    k.store(y, k.bx, 0.0)
    start = k.load(row, k.bx)
    end = k.load(row, k.bx + 1)
    k.wait()
    sums = np.zeros(k.threads, dtype=np.float32)
    k.shared(1)
    for entry, where in gpu.strides(start + lane, end, WAVEFRONT):
        value = k.load(val, entry, where)
        column = k.load(col, entry, where)
        k.wait(0, where)
        k.compute(14, where)
        rank = k.fetch(x, column, where)
        k.shared(1, where)
        k.compute(15, where)
        k.shared(1, where)
        sums = np.where(where, sums + value * rank, sums)
        yield
    total = sums.reshape(k.blocks, WAVEFRONT)
    for adds in gpu.tree(k, WAVEFRONT // 2):
        k.shared(1, adds, times=2)
        k.compute(8, adds)
        k.shared(1, adds)
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    k.barrier()
    writer = lane == 0
    before = k.load(y, k.bx, writer)
    k.shared(1, writer)
    k.wait(0, writer)
    k.compute(5, writer)
    k.store(y, k.bx, before + total[:, 0].repeat(WAVEFRONT), writer)


@gpu.program("hetero_mark_pagerank")
def hetero_mark_pagerank(
    memory: gpu.AddressSpace, graph: gpu.Graph, _seed: int, iterations: int = gpu.number(16)
) -> gpu.Launches:
    """The power method without damping: x and y change places after every launch.

    Arrays in the order row, col, val, x, y (our choice).  Row r of the matrix has an entry for each
    of the graph's arcs r -> c; the entries of a column add up to 1, and the ranks start at 1 / rows
    (our choices: the suite's are read from a file).

    Parameters:
        iterations: of the power method, one launch each (MGPUSim: 16).
    """
    rows = graph.vertices
    entries = np.bincount(graph.col, minlength=rows)
    row, col = memory.allocate("row", graph.row), memory.allocate("col", graph.col)
    val = memory.allocate("val", (1 / entries[graph.col]).astype(np.float32))
    x = memory.allocate("x", np.full(rows, 1 / rows, dtype=np.float32))
    y = memory.zeros("y", rows, np.float32)
    for _ in range(iterations):
        yield multiply_row[rows, WAVEFRONT](row, col, val, x, y)
        x, y = y, x
