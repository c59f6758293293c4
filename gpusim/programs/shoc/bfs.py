"""shoc_bfs: breadth-first search by levels, a warp for each vertex in turn."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 1024
"""Threads of a block: as many as the device allows, however few vertices there are."""

WARP = 32
"""Lanes that share a vertex, and vertices that they go through; a wavefront has two such groups."""

UNSEEN = 0xFFFF_FFFF
"""The level of a vertex that was not reached."""


@frozen
class Search:
    """Arrays of shoc_bfs.

    Attributes:
        levels: (vertices,) levels of the vertices.
        row: (vertices + 1,) where each vertex's arcs start, `edgeArray`.
        col: (arcs,) their targets, `edgeArrayAux`.
        flag: (1,) whether there is a next level.
    """

    levels: gpu.Words
    row: gpu.Words
    col: gpu.Words
    flag: gpu.Ints


@gpu.kernel("BFS_kernel_warp", registers=20, block=BLOCK, in_step=True)
def expand_level(
    k: gpu.BlockTracer, search: Search, level: int, before: NDArray[np.uint32]
) -> gpu.Steps:
    """One level: each warp goes through 32 vertices, and through the arcs of the current ones.

    The level of a vertex, and its row, are the same for all lanes of a warp; arcs are coalesced;
    the levels of their targets are gathered.  In the suite, whether a target is still unseen
    depends on the order of blocks.  Here a block sees `before`, the levels as they were at the
    launch, and its own; stores of an equal value may therefore be more.  Instructions are those of
    MGPUSim's trace: 581 for a wavefront that finds no current vertex, and 45 for each one that has
    arcs.
    """
    k.compute(69)
    seen = None
    for step in range(WARP):
        vertex = k.t - k.t % WARP + step
        inside = vertex < search.levels.length
        if not inside.any():
            return
        k.compute(4, inside)
        current = inside & (k.fetch(search.levels, vertex, inside) == level)
        k.compute(11, inside)
        if current.any():
            seen = before.copy() if seen is None else seen
            yield from _expand(k, search, level + 1, vertex, current, seen)
        yield


def _expand(
    k: gpu.BlockTracer,
    search: Search,
    level: int,
    vertex: gpu.Lanes,
    current: gpu.Mask,
    seen: NDArray[np.uint32],
) -> gpu.Steps:
    """Targets of the current vertices that are unseen have `level`."""
    end = k.load(search.row, vertex + 1, current).astype(np.int64)
    start = k.load(search.row, vertex, current).astype(np.int64)
    k.wait(0, current)
    k.compute(12, current)
    for edge, where in gpu.strides(start + k.t % WARP, np.where(current, end, 0), WARP):
        target = k.fetch(search.col, edge, where).astype(np.int64)
        k.compute(6, where)
        k.fetch(search.levels, target, where)
        k.compute(4, where)
        fresh = where & (seen[np.where(where, target, 0)] == UNSEEN)
        k.store(search.levels, target, level, fresh)
        k.store(search.flag, 0, 1, fresh)
        seen[target[fresh]] = level
        k.compute(17, where)
        yield


@gpu.program("shoc_bfs")
def shoc_bfs(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    _seed: int,
    source: int = gpu.number(0, 0),
    levels: int | None = gpu.number(None),
) -> gpu.Launches:
    """Breadth-first search: {flag = 0; a level} until the flag stays 0.

    Arrays in the order levels, edgeArray, edgeArrayAux, flag.

    Parameters:
        source: where the search starts (the suite: 0).
        levels: most launches, one a level; None: until nothing new is found.
    """
    vertices = graph.vertices
    if source >= vertices:
        raise ValueError(f"source = {source}: {graph.name} has {vertices} vertices")
    found = np.full(vertices, UNSEEN, dtype=np.uint32)
    found[source] = 0
    search = Search(
        memory.allocate("levels", found),
        memory.allocate("edgeArray", graph.row.astype(np.uint32)),
        memory.allocate("edgeArrayAux", graph.col.astype(np.uint32)),
        memory.zeros("flag", 1, np.int32),
    )
    for level in range(levels or vertices + 1):
        search.flag.data[0] = 0
        yield expand_level[vertices](search, level, search.levels.data.copy())
        if not search.flag.data[0]:
            return
