"""shoc_bfs: breadth-first search by levels, a warp for each vertex in turn."""

from __future__ import annotations

from collections.abc import Iterator

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

BLOCK = 1024
"""Threads of a block: as many as the device allows, however few vertices there are."""

WARP = 32
"""Lanes that share a vertex, and vertices that they go through; a wavefront has two such groups."""

UNSEEN = 0xFFFF_FFFF
"""The level of a vertex that was not reached."""

Words = DeviceArray[np.uint32]


@define(kw_only=True, eq=False)
class ShocBfsLevel(Kernel):
    """One level: each warp goes through 32 vertices, and through the arcs of the current ones.

    The level of a vertex, and its row, are the same for all lanes of a warp; arcs are coalesced;
    the levels of their targets are gathered.  In the suite, whether a target is still unseen
    depends on the order of blocks.  Here a block sees the levels as they were at the launch, and
    its own; stores of an equal value may therefore be more.  Instructions are those of MGPUSim's
    trace: 581 for a wavefront that finds no current vertex, and 45 for each one that has arcs.

    Attributes:
        levels: (vertices,) levels of the vertices.
        row: (vertices + 1,) where each vertex's arcs start, `edgeArray`.
        col: (arcs,) their targets, `edgeArrayAux`.
        flag: (1,) whether there is a next level.
        vertices: their number.
        level: the current one.
    """

    levels: Words
    row: Words
    col: Words
    flag: DeviceArray[np.int32]
    vertices: int
    level: int
    name: str = "BFS_kernel_warp"
    registers_per_thread: int = 20
    _before: NDArray[np.uint32] = field(init=False)
    in_step = True

    def __attrs_post_init__(self) -> None:
        self._before = self.levels.data.copy()

    def body(self, k: BlockTracer) -> Iterator[None]:
        lane = k.t % WARP
        k.compute(69)
        seen = None
        for step in range(WARP):
            vertex = k.t - lane + step
            inside = vertex < self.vertices
            if not inside.any():
                return
            k.compute(4, inside)
            current = inside & (k.load(self.levels, vertex, inside) == self.level)
            k.wait(0, inside)
            k.compute(11, inside)
            if current.any():
                seen = self._before.copy() if seen is None else seen
                yield from self._expand(k, vertex, lane, current, seen)
            yield

    def _expand(
        self,
        k: BlockTracer,
        vertex: NDArray[np.int64],
        lane: NDArray[np.int64],
        current: Mask,
        seen: NDArray[np.uint32],
    ) -> Iterator[None]:
        end = k.load(self.row, vertex + 1, current).astype(np.int64)
        start = k.load(self.row, vertex, current).astype(np.int64)
        k.wait(0, current)
        k.compute(12, current)
        edge = start + lane
        while (where := current & (edge < end)).any():
            target = k.load(self.col, edge, where).astype(np.int64)
            k.wait(0, where)
            k.compute(6, where)
            k.load(self.levels, target, where)
            k.wait(0, where)
            k.compute(4, where)
            fresh = where & (seen[np.where(where, target, 0)] == UNSEEN)
            k.store(self.levels, target, self.level + 1, fresh)
            k.store(self.flag, 0, 1, fresh)
            seen[target[fresh]] = self.level + 1
            k.compute(17, where)
            edge = edge + WARP
            yield


@frozen
class ShocBfsParameters:
    """Parameters of shoc_bfs.

    Attributes:
        source: where the search starts (the suite: 0).
        levels: most launches, one a level; None: until nothing new is found.
    """

    source: int = field(default=0, validator=ge(0))
    levels: int | None = field(default=None, validator=optional(ge(1)))


@program("shoc_bfs", ShocBfsParameters, uses_graph=True)
class ShocBfs(Program):
    """Breadth-first search: {flag = 0; a level} until the flag stays 0.

    Arrays in the order levels, edgeArray, edgeArrayAux, flag.
    """

    def __init__(self, parameters: ShocBfsParameters, graph: Graph, seed: int) -> None:
        super().__init__("shoc_bfs")
        self.vertices = graph.vertices
        if parameters.source >= self.vertices:
            raise ValueError(
                f"source = {parameters.source}: {graph.name} has {self.vertices} vertices"
            )
        self.most_levels = parameters.levels or self.vertices + 1
        levels = np.full(self.vertices, UNSEEN, dtype=np.uint32)
        levels[parameters.source] = 0
        self.levels = self.memory.allocate("levels", levels)
        self.row = self.memory.allocate("edgeArray", graph.row.astype(np.uint32))
        self.col = self.memory.allocate("edgeArrayAux", graph.col.astype(np.uint32))
        self.flag = self.memory.allocate("flag", np.zeros(1, dtype=np.int32))

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        for level in range(self.most_levels):
            self.flag.data[0] = 0
            yield ShocBfsLevel(
                shape=shape,
                levels=self.levels,
                row=self.row,
                col=self.col,
                flag=self.flag,
                vertices=self.vertices,
                level=level,
            )
            if not self.flag.data[0]:
                return
