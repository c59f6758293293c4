"""pagerank: ranks pushed along the arcs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.device import DeviceArray
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import PROLOGUE, threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
DAMPING = 0.85

Floats = DeviceArray[np.float32]
Ints = DeviceArray[np.int32]


@define(kw_only=True, eq=False)
class _Ranks(Kernel):
    """A kernel with one thread a vertex.

    Attributes:
        rank, incoming: `pr1` and `pr2`.
        vertices: their number.
    """

    rank: Floats
    incoming: Floats
    vertices: int


@define(kw_only=True, eq=False)
class PagerankStart(_Ranks):
    """Every vertex starts with 1 / vertices."""

    name: str = "inibuffer"
    registers_per_thread: int = 14
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        k.store(self.rank, k.t, 1 / self.vertices, inside)
        k.store(self.incoming, k.t, 0.0, inside)


@define(kw_only=True, eq=False)
class PagerankPush(_Ranks):
    """Every vertex adds its rank, divided by its degree, to its neighbours: one vertex a thread.

    The rank is loaded again for every arc, since the reductions may alias it; the loop therefore
    waits for every pair of loads.  The order in which blocks add changes the last bits of the
    sums, and no address.

    Attributes:
        row: (vertices,) where the arcs start; the last vertex's end is known to the kernel.
        col: targets of the arcs.
    """

    row: Ints
    col: Ints
    name: str = "pagerank1"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = threads_below(k, self.vertices)
        start = k.load(self.row, t, inside)
        end = np.where(inside, self.col.length, start)
        inner = t < self.vertices - 1
        end = np.where(inner, k.load(self.row, t + 1, inner), end)
        k.wait(0, inside)
        divisor = np.maximum(end - start, 1).astype(np.float32)
        edge = start.copy()
        while (where := edge < end).any():
            target = k.load(self.col, edge, where)
            rank = k.load(self.rank, t, where)
            k.wait(0, where)
            k.compute(13, where)
            k.reduce_add(self.incoming, target, rank / divisor, where)
            edge += 1
            yield


@define(kw_only=True, eq=False)
class PagerankUpdate(_Ranks):
    """New ranks from what came in."""

    name: str = "pagerank2"
    registers_per_thread: int = 21
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        incoming = k.load(self.incoming, k.t, inside)
        k.wait(0, inside)
        k.compute(18 - PROLOGUE, inside)
        rank = (1 - DAMPING) / self.vertices + DAMPING * incoming.astype(np.float64)
        k.store(self.rank, k.t, rank.astype(np.float32), inside)
        k.store(self.incoming, k.t, 0.0, inside)


@frozen
class PagerankParameters:
    """Parameters of pagerank.

    Attributes:
        iterations: of the power method (the suite: always 20).
    """

    iterations: int = field(default=20, validator=ge(1))


@program("pagerank", PagerankParameters, uses_graph=True)
class Pagerank(Program):
    """PageRank, pushed along the arcs with reductions.

    Arrays in the order row, col, data (never read), pr1, pr2.  After k iterations the ranks x
    are within 0.85^k of the fixed point of x = 0.15 / N + 0.85 P^T x, whose dangling vertices
    keep nothing: divided by its sum it is the PageRank whose dangling vertices jump anywhere.
    """

    def __init__(self, parameters: PagerankParameters, graph: Graph, seed: int) -> None:
        super().__init__("pagerank")
        self.vertices = graph.vertices
        self.iterations = parameters.iterations
        zeros = np.zeros(self.vertices, dtype=np.float32)
        self.row = self.memory.allocate("row", graph.row[:-1])
        self.col = self.memory.allocate("col", graph.col)
        self.data = self.memory.allocate("data", np.broadcast_to(np.int32(1), graph.arcs))
        self.rank = self.memory.allocate("pr1", zeros)
        self.incoming = self.memory.allocate("pr2", zeros)

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        rank, incoming, vertices = self.rank, self.incoming, self.vertices
        yield PagerankStart(shape=shape, rank=rank, incoming=incoming, vertices=vertices)
        push = PagerankPush(
            shape=shape,
            row=self.row,
            col=self.col,
            rank=rank,
            incoming=incoming,
            vertices=vertices,
        )
        update = PagerankUpdate(shape=shape, rank=rank, incoming=incoming, vertices=vertices)
        for _ in range(self.iterations):
            yield push
            yield update
