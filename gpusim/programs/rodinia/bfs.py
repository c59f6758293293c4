"""bfs: breadth-first search by levels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 512

Flags = DeviceArray[np.bool_]
Ints = DeviceArray[np.int32]


@define(kw_only=True, eq=False)
class BfsVisit(Kernel):
    """Vertices of the current level visit their neighbours: one vertex a thread.

    The words of a node are loaded again after each visit, since the stores may alias them; the
    loop therefore waits for every single load.  Threads race only in writing equal values.

    Attributes:
        nodes: (2 * vertices,) words {start, degree}.
        edges: targets of the arcs.
        mask, updating, visited: the current level, the next one, all that were reached.
        cost: the level of each vertex.
        vertices: their number.
    """

    nodes: Ints
    edges: Ints
    mask: Flags
    updating: Flags
    visited: Flags
    cost: Ints
    vertices: int
    name: str = "bfs_kernel1"
    registers_per_thread: int = 22
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = t < self.vertices
        k.compute(9, inside)
        active = k.load(self.mask, t, inside) & inside
        k.wait(0, inside)
        if not active.any():
            return
        k.store(self.mask, t, False, active)
        degree = k.load(self.nodes, 2 * t + 1, active)
        start = k.load(self.nodes, 2 * t, active)
        k.wait(0, active)
        end = np.where(active, start + degree, start)
        edge = start.copy()
        while (where := edge < end).any():
            k.compute(1, where)
            target = k.load(self.edges, edge, where)
            k.wait(0, where)
            k.compute(3, where)
            fresh = where & ~k.load(self.visited, target, where)
            k.wait(0, where)
            if fresh.any():
                self._visit(k, target, fresh)
            k.compute(5, where)
            edge += 1
            yield

    def _visit(self, k: BlockTracer, target: NDArray[np.int32], fresh: Mask) -> None:
        t = k.t
        cost = k.load(self.cost, t, fresh)
        k.wait(0, fresh)
        k.compute(7, fresh)
        k.store(self.cost, target, cost + 1, fresh)
        k.store(self.updating, target, True, fresh)
        k.load(self.nodes, 2 * t + 1, fresh)
        k.load(self.nodes, 2 * t, fresh)
        k.wait(0, fresh)


@define(kw_only=True, eq=False)
class BfsAdvance(Kernel):
    """The visited vertices become the next level.

    Attributes:
        mask, updating, visited: as in `BfsVisit`.
        over: (1,) whether there is a next level.
        vertices: their number.
    """

    mask: Flags
    updating: Flags
    visited: Flags
    over: Flags
    vertices: int
    name: str = "bfs_kernel2"
    registers_per_thread: int = 12
    in_step = True

    def body(self, k: BlockTracer) -> None:
        t = k.t
        inside = t < self.vertices
        k.compute(9, inside)
        reached = k.load(self.updating, t, inside) & inside
        k.wait(0, inside)
        if not reached.any():
            return
        k.store(self.mask, t, True, reached)
        k.store(self.visited, t, True, reached)
        k.store(self.over, 0, True, reached)
        k.store(self.updating, t, False, reached)


@frozen
class BfsParameters:
    """Parameters of bfs.

    Attributes:
        source: where the search starts; None: what the graph's file says, else the first vertex
            that has neighbours (vertex 0 in the suite).
        levels: most levels; None: until all that can be reached are.
    """

    source: int | None = field(default=None, validator=optional(ge(0)))
    levels: int | None = field(default=None, validator=optional(ge(1)))


@program("bfs", BfsParameters, uses_graph=True)
class Bfs(Program):
    """Breadth-first search by levels.

    Arrays in the order nodes, edges, mask, updating, visited, cost, over; the flags take 1 byte
    each.  The host loop: clear `over`, launch both kernels, read `over`, until it stays clear or
    there have been enough levels.
    """

    def __init__(self, parameters: BfsParameters, graph: Graph, seed: int) -> None:
        super().__init__("bfs")
        source = graph.source if parameters.source is None else parameters.source
        if source is None:
            source = int(np.argmax(graph.degrees > 0))
        if source >= graph.vertices:
            raise ValueError(f"source = {source}: {graph.name} has {graph.vertices} vertices")
        self.vertices = graph.vertices
        self.levels = parameters.levels
        nodes = np.stack((graph.row[:-1], graph.degrees), axis=1)
        first = np.arange(self.vertices) == source
        self.nodes = self.memory.allocate("nodes", nodes)
        self.edges = self.memory.allocate("edges", graph.col)
        self.mask = self.memory.allocate("mask", first, 1)
        self.updating = self.memory.allocate("updating", np.zeros_like(first), 1)
        self.visited = self.memory.allocate("visited", first, 1)
        self.cost = self.memory.allocate("cost", np.where(first, 0, -1).astype(np.int32))
        self.over = self.memory.allocate("over", np.zeros(1, dtype=bool), 1)

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, min(BLOCK, self.vertices))
        for _ in count() if self.levels is None else range(self.levels):
            self.over.data[0] = False
            yield BfsVisit(
                shape=shape,
                nodes=self.nodes,
                edges=self.edges,
                mask=self.mask,
                updating=self.updating,
                visited=self.visited,
                cost=self.cost,
                vertices=self.vertices,
            )
            yield BfsAdvance(
                shape=shape,
                mask=self.mask,
                updating=self.updating,
                visited=self.visited,
                over=self.over,
                vertices=self.vertices,
            )
            if not self.over.data[0]:
                return
