"""bc: betweenness centrality (Brandes), source by source."""

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
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.pannotia.rows import Ints, VertexKernel, transposed
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 128
Floats = DeviceArray[np.float32]


@define(kw_only=True, eq=False)
class BcClean(Kernel):
    """Clears the centralities, once.  Registers are our choice.

    Attributes:
        bc: (vertices,) centralities.
        vertices: their number.
    """

    bc: Floats
    vertices: int
    name: str = "clean_bc"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        k.store(self.bc, k.t, 0.0, threads_below(k, self.vertices))


@define(kw_only=True, eq=False)
class BcStart(Kernel):
    """Only the source is reached, on one path.  Registers are our choice.

    Attributes:
        d: (vertices,) levels, -1 if not reached.
        sigma: (vertices,) dependencies.
        rho: (vertices,) numbers of shortest paths.
        source: where they start.
        vertices: their number.
    """

    d: Ints
    sigma: Floats
    rho: Floats
    source: int
    vertices: int
    name: str = "clean_1d_array"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        k.store(self.sigma, k.t, 0.0, inside)
        k.store(self.rho, k.t, (k.t == self.source).astype(np.float32), inside)
        k.store(self.d, k.t, np.where(k.t == self.source, 0, -1), inside)


@define(kw_only=True, eq=False)
class BcForward(VertexKernel):
    """Vertices of the current level add their path counts to the next level.

    In the suite, whether a neighbour is still unreached depends on the order of blocks.  Here a
    block sees the levels as they were at the launch, and its own; stores of an equal value may
    therefore be more.  Path counts are whole numbers, so that the order of additions is no matter.

    Attributes:
        d, rho: as in `BcStart`.
        stop: (1,) whether there is a next level.
        level: the current level.
    """

    d: Ints
    rho: Floats
    stop: Ints
    level: int
    name: str = "bfs_kernel"
    registers_per_thread: int = 22
    _before: NDArray[np.int32] = field(init=False)
    in_step = True

    def __attrs_post_init__(self) -> None:
        self._before = self.d.data.copy()

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        active = inside & (k.load(self.d, k.t, inside) == self.level)
        k.wait(0, inside)
        if not active.any():
            return
        reached = np.zeros(k.blocks * self.vertices, dtype=bool)
        edge, end = self.bounds(k, active)
        while (where := edge < end).any():
            target = k.load(self.col, edge, where)
            k.wait(0, where)
            k.compute(2, where)
            k.load(self.d, target, where)
            k.wait(0, where)
            k.compute(9, where)
            safe = np.where(where, target, 0)
            own = k.which * self.vertices + safe
            fresh = where & (self._before[safe] < 0) & ~reached[own]
            k.store(self.stop, 0, 1, fresh)
            k.store(self.d, target, self.level + 1, fresh)
            reached[own[fresh]] = True
            below = where & reached[own]
            rho = k.load(self.rho, k.t, below)
            k.wait(0, below)
            k.compute(3, below)
            k.reduce_add(self.rho, target, rho, below)
            edge = edge + 1
            yield


@define(kw_only=True, eq=False)
class BcBackward(VertexKernel):
    """Vertices of one level add their dependencies to the level above, along reversed arcs.

    The order in which blocks add changes the last bits of the sums, and no address.

    Attributes:
        d, sigma, rho: as in `BcStart`.
        bc: as in `BcClean`.
        level: of the vertices.
        source: it has no centrality of its own.
    """

    d: Ints
    sigma: Floats
    rho: Floats
    bc: Floats
    level: int
    source: int
    name: str = "backtrack_kernel"
    registers_per_thread: int = 29
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = threads_below(k, self.vertices)
        active = inside & (k.load(self.d, t, inside) == self.level)
        k.wait(0, inside)
        if not active.any():
            return
        edge, end = self.bounds(k, active)
        while (where := edge < end).any():
            target = k.load(self.col, edge, where)
            k.wait(0, where)
            k.compute(2, where)
            above = where & (k.load(self.d, target, where) == self.level - 1)
            k.wait(0, where)
            paths = k.load(self.rho, t, above)
            k.compute(5, above)
            paths_above = k.load(self.rho, target, above)
            k.wait(0, above)
            k.compute(10, above)
            sigma = k.load(self.sigma, t, above)
            k.wait(0, above)
            share = np.divide(paths_above, paths, out=np.zeros_like(paths), where=above)
            k.reduce_add(self.sigma, target, share * (1 + sigma), above)
            edge = edge + 1
            yield
        other = active & (t != self.source)
        bc = k.load(self.bc, t, other)
        sigma = k.load(self.sigma, t, other)
        k.wait(0, other)
        k.store(self.bc, t, bc + sigma, other)


@frozen
class BcParameters:
    """Parameters of bc.

    Attributes:
        sources: vertices 0, 1, ... from which shortest paths are counted; None: all (the suite).
    """

    sources: int | None = field(default=None, validator=optional(ge(1)))


@program("bc", BcParameters, uses_graph=True)
class Bc(Program):
    """Betweenness centrality, not normalised: forward levels, then backward levels, a source.

    Arrays in the order bc, d, sigma, rho, stop, row, col, row_t, col_t; the last two are the graph
    with its arcs reversed.  The suite's kernel back_sum is never launched: backtrack_kernel adds
    the dependencies itself.  The deepest backward launches find no vertex, as in the suite.
    """

    def __init__(self, parameters: BcParameters, graph: Graph, seed: int) -> None:
        super().__init__("bc")
        self.vertices = graph.vertices
        self.sources = min(parameters.sources or self.vertices, self.vertices)
        reverse = transposed(graph)
        zeros = np.zeros(self.vertices, dtype=np.float32)
        self.bc = self.memory.allocate("bc", zeros)
        self.d = self.memory.allocate("d", np.zeros(self.vertices, dtype=np.int32))
        self.sigma = self.memory.allocate("sigma", zeros)
        self.rho = self.memory.allocate("rho", zeros)
        self.stop = self.memory.allocate("stop", np.zeros(1, dtype=np.int32))
        self.row = self.memory.allocate("row", graph.row)
        self.col = self.memory.allocate("col", graph.col)
        self.row_t = self.memory.allocate("row_t", reverse.row)
        self.col_t = self.memory.allocate("col_t", reverse.col)

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        yield BcClean(shape=shape, bc=self.bc, vertices=self.vertices)
        for source in range(self.sources):
            yield BcStart(
                shape=shape,
                d=self.d,
                sigma=self.sigma,
                rho=self.rho,
                source=source,
                vertices=self.vertices,
            )
            depth = 0
            self.stop.data[0] = 1
            while self.stop.data[0]:
                self.stop.data[0] = 0
                yield BcForward(
                    shape=shape,
                    row=self.row,
                    col=self.col,
                    vertices=self.vertices,
                    d=self.d,
                    rho=self.rho,
                    stop=self.stop,
                    level=depth,
                )
                depth += 1
            for level in reversed(range(depth)):
                yield BcBackward(
                    shape=shape,
                    row=self.row_t,
                    col=self.col_t,
                    vertices=self.vertices,
                    d=self.d,
                    sigma=self.sigma,
                    rho=self.rho,
                    bc=self.bc,
                    level=level,
                    source=source,
                )
