"""bc: betweenness centrality (Brandes), source by source."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.pannotia.rows import Rows, transposed


@frozen
class Vertices:
    """Arrays with an element a vertex.

    Attributes:
        bc: centralities.
        d: levels, -1 if not reached.
        sigma: dependencies.
        rho: numbers of shortest paths.
    """

    bc: gpu.Floats
    d: gpu.Ints
    sigma: gpu.Floats
    rho: gpu.Floats


@gpu.kernel("clean_bc", registers=8, in_step=True)
def clean(k: gpu.BlockTracer, v: Vertices, n: int) -> None:
    """Clears the centralities, once.  Registers are our choice."""
    k.store(v.bc, k.t, 0.0, gpu.threads_below(k, n))


@gpu.kernel("clean_1d_array", registers=8, in_step=True)
def start(k: gpu.BlockTracer, v: Vertices, n: int, source: int) -> None:
    """Only the source is reached, on one path.  Registers are our choice."""
    inside = gpu.threads_below(k, n)
    k.store(v.sigma, k.t, 0.0, inside)
    k.store(v.rho, k.t, (k.t == source).astype(np.float32), inside)
    k.store(v.d, k.t, np.where(k.t == source, 0, -1), inside)


@gpu.kernel("bfs_kernel", registers=22, in_step=True)
def forward(
    k: gpu.BlockTracer,
    rows: Rows,
    v: Vertices,
    stop: gpu.Ints,
    level: int,
    before: NDArray[np.int32],
) -> gpu.Steps:
    """Vertices of the current level add their path counts to the next level.

    In the suite, whether a neighbour is still unreached depends on the order of blocks.  Here a
    block sees the levels as they were at the launch, `before`, and its own; stores of an equal
    value may therefore be more.  Path counts are whole numbers, so that the order of additions is
    no matter.

    Takes `stop` ((1,) whether there is a next level), `level` (the current level).
    """
    inside = gpu.threads_below(k, rows.vertices)
    active = inside & (k.fetch(v.d, k.t, inside) == level)
    if not active.any():
        return
    reached = np.zeros(k.blocks * rows.vertices, dtype=bool)
    first, end = rows.known_end(k, active)
    for edge, where in gpu.strides(first, end):
        target = k.fetch(rows.col, edge, where)
        k.compute(2, where)
        k.fetch(v.d, target, where)
        k.compute(9, where)
        safe = np.where(where, target, 0)
        own = k.which * rows.vertices + safe
        fresh = where & (before[safe] < 0) & ~reached[own]
        k.store(stop, 0, 1, fresh)
        k.store(v.d, target, level + 1, fresh)
        reached[own[fresh]] = True
        below = where & reached[own]
        rho = k.fetch(v.rho, k.t, below)
        k.compute(3, below)
        k.reduce_add(v.rho, target, rho, below)
        yield


@gpu.kernel("backtrack_kernel", registers=29, in_step=True)
def backward(k: gpu.BlockTracer, rows: Rows, v: Vertices, level: int, source: int) -> gpu.Steps:
    """Vertices of one level add their dependencies to the level above, along reversed arcs.

    The order in which blocks add changes the last bits of the sums, and no address.

    Takes `level` (of the vertices), `source` (it has no centrality of its own).
    """
    inside = gpu.threads_below(k, rows.vertices)
    active = inside & (k.fetch(v.d, k.t, inside) == level)
    if not active.any():
        return
    first, end = rows.known_end(k, active)
    for edge, where in gpu.strides(first, end):
        target = k.fetch(rows.col, edge, where)
        k.compute(2, where)
        above = where & (k.fetch(v.d, target, where) == level - 1)
        paths = k.load(v.rho, k.t, above)
        k.compute(5, above)
        paths_above = k.fetch(v.rho, target, above)
        k.compute(10, above)
        sigma = k.fetch(v.sigma, k.t, above)
        share = np.divide(paths_above, paths, out=np.zeros_like(paths), where=above)
        k.reduce_add(v.sigma, target, share * (1 + sigma), above)
        yield
    other = active & (k.t != source)
    bc = k.load(v.bc, k.t, other)
    sigma = k.load(v.sigma, k.t, other)
    k.wait(0, other)
    k.store(v.bc, k.t, bc + sigma, other)


@gpu.program("bc")
def bc(
    memory: gpu.AddressSpace, graph: gpu.Graph, _seed: int, sources: int | None = gpu.number(None)
) -> gpu.Launches:
    """Betweenness centrality, not normalised: forward levels, then backward levels, a source.

    Arrays in the order bc, d, sigma, rho, stop, row, col, row_t, col_t; the last two are the graph
    with its arcs reversed.  The suite's kernel back_sum is never launched: backtrack_kernel adds
    the dependencies itself.  The deepest backward launches find no vertex, as in the suite.

    Parameters:
        sources: vertices 0, 1, ... from which shortest paths are counted; None: all (the suite).
    """
    n = graph.vertices
    v = Vertices(
        bc=memory.zeros("bc", n, np.float32),
        d=memory.zeros("d", n, np.int32),
        sigma=memory.zeros("sigma", n, np.float32),
        rho=memory.zeros("rho", n, np.float32),
    )
    stop = memory.zeros("stop", 1, np.int32)
    rows = Rows.place(memory, graph)
    reverse = Rows.place(memory, transposed(graph), "_t")
    yield clean[n](v, n)
    for source in range(min(sources or n, n)):
        yield start[n](v, n, source)
        depth = 0
        stop.data[0] = 1
        while stop.data[0]:
            stop.data[0] = 0
            yield forward[n](rows, v, stop, depth, v.d.data.copy())
            depth += 1
        for level in reversed(range(depth)):
            yield backward[n](reverse, v, level, source)
