"""bfs: breadth-first search by levels."""

from __future__ import annotations

from itertools import count

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu

BLOCK = 512

Flags = gpu.DeviceArray[np.bool_]


@frozen
class Search:
    """Arrays of a search.

    Attributes:
        nodes: (2 * vertices,) words {start, degree}.
        edges: targets of the arcs.
        mask, updating, visited: (vertices,) the current level, the next one, all that were reached.
        cost: (vertices,) levels.
        vertices: their number.
    """

    nodes: gpu.Ints
    edges: gpu.Ints
    mask: Flags
    updating: Flags
    visited: Flags
    cost: gpu.Ints
    vertices: int


def _reach(k: gpu.BlockTracer, of: Search, target: NDArray[np.int32], fresh: gpu.Mask) -> None:
    """Targets that were not visited are in the next level."""
    cost = k.fetch(of.cost, k.t, fresh)
    k.compute(7, fresh)
    k.store(of.cost, target, cost + 1, fresh)
    k.store(of.updating, target, True, fresh)
    k.load(of.nodes, 2 * k.t + 1, fresh)
    k.load(of.nodes, 2 * k.t, fresh)
    k.wait(0, fresh)


@gpu.kernel("bfs_kernel1", registers=22, in_step=True)
def visit(k: gpu.BlockTracer, of: Search) -> gpu.Steps:
    """Vertices of the current level visit their neighbours: one vertex a thread.

    The words of a node are loaded again after each visit, since the stores may alias them; the
    loop therefore waits for every single load.  Threads race only in writing equal values.
    """
    inside = k.t < of.vertices
    k.compute(9, inside)
    active = k.fetch(of.mask, k.t, inside) & inside
    if not active.any():
        return
    k.store(of.mask, k.t, False, active)
    degree = k.load(of.nodes, 2 * k.t + 1, active)
    start = k.load(of.nodes, 2 * k.t, active)
    k.wait(0, active)
    end = np.where(active, start + degree, start)
    for edge, where in gpu.strides(start, end):
        k.compute(1, where)
        target = k.fetch(of.edges, edge, where)
        k.compute(3, where)
        fresh = where & ~k.fetch(of.visited, target, where)
        if fresh.any():
            _reach(k, of, target, fresh)
        k.compute(5, where)
        yield


@gpu.kernel("bfs_kernel2", registers=12, in_step=True)
def advance(k: gpu.BlockTracer, of: Search, over: Flags) -> None:
    """The visited vertices become the next level.  `over` (1,): is there one?"""
    inside = k.t < of.vertices
    k.compute(9, inside)
    reached = k.fetch(of.updating, k.t, inside) & inside
    if not reached.any():
        return
    k.store(of.mask, k.t, True, reached)
    k.store(of.visited, k.t, True, reached)
    k.store(over, 0, True, reached)
    k.store(of.updating, k.t, False, reached)


@gpu.program("bfs")
def bfs(
    memory: gpu.AddressSpace,
    graph: gpu.Graph,
    _seed: int,
    source: int | None = gpu.number(None, 0),
    levels: int | None = gpu.number(None),
) -> gpu.Launches:
    """Breadth-first search by levels.

    Arrays in the order nodes, edges, mask, updating, visited, cost, over; the flags take 1 byte
    each.  The host loop: clear `over`, launch both kernels, read `over`, until it stays clear or
    there have been enough levels.

    Parameters:
        source: where the search starts; None: what the graph's file says, else the first vertex
            that has neighbours (vertex 0 in the suite).
        levels: most levels; None: until all that can be reached are.
    """
    source = graph.source if source is None else source
    if source is None:
        source = int(np.argmax(graph.degrees > 0))
    if source >= graph.vertices:
        raise ValueError(f"source = {source}: {graph.name} has {graph.vertices} vertices")
    vertices = graph.vertices
    first = np.arange(vertices) == source
    search = Search(
        nodes=memory.allocate("nodes", np.stack((graph.row[:-1], graph.degrees), axis=1)),
        edges=memory.allocate("edges", graph.col),
        mask=memory.allocate("mask", first, 1),
        updating=memory.allocate("updating", np.zeros_like(first), 1),
        visited=memory.allocate("visited", first, 1),
        cost=memory.allocate("cost", np.where(first, 0, -1).astype(np.int32)),
        vertices=vertices,
    )
    over = memory.allocate("over", np.zeros(1, dtype=bool), 1)
    shape = gpu.Shape.linear(vertices, min(BLOCK, vertices))
    for _ in count() if levels is None else range(levels):
        over.data[0] = False
        yield visit[shape](search)
        yield advance[shape](search, over)
        if not over.data[0]:
            return
