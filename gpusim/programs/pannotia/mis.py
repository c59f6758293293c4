"""mis: a maximal independent set by random vertex values (Luby)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.pannotia.rows import FAR, Ints, VertexKernel, unrolled, vertex_values
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 128
OPEN, CLOSED, MEMBER = -1, -2, 2
"""Marks of vertices: undecided and decided (in `c` and `cu`), in the set (in `s`)."""


@define(kw_only=True, eq=False)
class MisStart(Kernel):
    """Every vertex is undecided.

    Attributes:
        c, cu: (vertices,) who is decided, now and after this round.
        s: (vertices,) the set.
        vertices: their number.
    """

    c: Ints
    cu: Ints
    s: Ints
    vertices: int
    name: str = "init"
    registers_per_thread: int = 12
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        k.store(self.c, k.t, OPEN, inside)
        k.store(self.cu, k.t, OPEN, inside)
        k.store(self.s, k.t, 0, inside)


@define(kw_only=True, eq=False)
class MisSmallest(VertexKernel):
    """The smallest value among the undecided neighbours of each undecided vertex.

    There is no store in the loop: four arcs at a time load `col`, then `c`, then `value`.  Five
    instructions an arc, three more for a rival, five for the loop of four: PTX of nvcc 11.8, sm_35.

    Attributes:
        stop: (1,) whether there was an undecided vertex.
        smallest: (vertices,) the result, `min`.
        c: as in `MisStart`.
        value: (vertices,) random values.
    """

    stop: Ints
    smallest: Ints
    c: Ints
    value: Ints
    name: str = "mis1"
    registers_per_thread: int = 28
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        active = inside & (k.load(self.c, k.t, inside) == OPEN)
        k.wait(0, inside)
        if not active.any():
            return
        k.store(self.stop, 0, 1, active)
        smallest = np.full(k.threads, FAR, dtype=np.int32)
        for arcs in unrolled(*self.bounds(k, active)):
            first = arcs[0][1]
            targets = [k.load(self.col, arc, where) for arc, where in arcs]
            k.wait(0, first)
            rivals = [
                where & (k.load(self.c, target, where) == OPEN)
                for target, (_, where) in zip(targets, arcs, strict=True)
            ]
            k.wait(0, first)
            for target, rival in zip(targets, rivals, strict=True):
                value = k.load(self.value, target, rival)
                smallest = np.where(rival, np.minimum(smallest, value), smallest)
            k.wait(0, np.logical_or.reduce(rivals))
            for rival, (_, where) in zip(rivals, arcs, strict=True):
                k.compute(5, where)
                k.compute(3, rival)
            k.compute(5, first)
            yield
        k.store(self.smallest, k.t, smallest, active)


@define(kw_only=True, eq=False)
class MisJoin(VertexKernel):
    """Vertices that no neighbour undercuts join the set and rule out their neighbours.

    Neighbours with equal values both join: a flaw of the suite, kept.  In the suite a vertex may or
    may not see that such a neighbour has just joined; here it sees `c` as it was at the launch, so
    that the result and the addresses do not depend on the order of blocks.  Six instructions an
    arc, three more if it rules its target out, as in PTX of nvcc 11.8 for sm_35.

    Attributes:
        smallest, c, cu, s, value: as in the other kernels.
    """

    smallest: Ints
    c: Ints
    cu: Ints
    s: Ints
    value: Ints
    name: str = "mis2"
    registers_per_thread: int = 22
    _before: NDArray[np.int32] = field(init=False)
    in_step = True

    def __attrs_post_init__(self) -> None:
        self._before = self.c.data.copy()

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = threads_below(k, self.vertices)
        value = k.load(self.value, t, inside)
        smallest = k.load(self.smallest, t, inside)
        k.wait(0, inside)
        candidate = inside & (value <= smallest)
        joins = candidate & (k.load(self.c, t, candidate) == OPEN)
        k.wait(0, candidate)
        if not joins.any():
            return
        k.store(self.s, t, MEMBER, joins)
        edge, end = self.bounds(k, joins)
        k.store(self.c, t, CLOSED, joins)
        while (where := edge < end).any():
            target = k.load(self.col, edge, where)
            k.wait(0, where)
            k.compute(2, where)
            k.load(self.c, target, where)
            k.wait(0, where)
            k.compute(4, where)
            rival = where & (self._before[np.where(where, target, 0)] == OPEN)
            k.compute(3, rival)
            k.store(self.cu, target, CLOSED, rival)
            edge = edge + 1
            yield


@define(kw_only=True, eq=False)
class MisUpdate(Kernel):
    """Vertices that were ruled out are decided.

    Attributes:
        c, cu: as in `MisStart`.
        vertices: their number.
    """

    c: Ints
    cu: Ints
    vertices: int
    name: str = "mis3"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        closed = inside & (k.load(self.cu, k.t, inside) == CLOSED)
        k.wait(0, inside)
        k.store(self.c, k.t, CLOSED, closed)


@frozen
class MisParameters:
    """Parameters of mis.

    Attributes:
        rounds: most rounds, of three launches each; None: until all vertices are decided.
    """

    rounds: int | None = field(default=None, validator=optional(ge(1)))


@program("mis", MisParameters, uses_graph=True)
class Mis(Program):
    """A maximal independent set: init, then {stop = 0; mis1; mis2; mis3} until stop stays 0.

    Arrays in the order row, col, stop, min, c, cu, s, value.
    """

    def __init__(self, parameters: MisParameters, graph: Graph, seed: int) -> None:
        super().__init__("mis")
        self.vertices = graph.vertices
        self.rounds = parameters.rounds
        zeros = np.zeros(self.vertices, dtype=np.int32)
        self.row = self.memory.allocate("row", graph.row[:-1])
        self.col = self.memory.allocate("col", graph.col)
        self.stop = self.memory.allocate("stop", zeros[:1])
        self.smallest = self.memory.allocate("min", zeros)
        self.c = self.memory.allocate("c", zeros)
        self.cu = self.memory.allocate("cu", zeros)
        self.s = self.memory.allocate("s", zeros)
        self.value = self.memory.allocate("value", vertex_values(self.vertices, seed))

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        c, cu, s, value, smallest = self.c, self.cu, self.s, self.value, self.smallest
        row, col, vertices = self.row, self.col, self.vertices
        yield MisStart(shape=shape, c=c, cu=cu, s=s, vertices=vertices)
        number = 0
        while self.rounds is None or number < self.rounds:
            self.stop.data[0] = 0
            yield MisSmallest(
                shape=shape,
                row=row,
                col=col,
                vertices=vertices,
                stop=self.stop,
                smallest=smallest,
                c=c,
                value=value,
            )
            yield MisJoin(
                shape=shape,
                row=row,
                col=col,
                vertices=vertices,
                smallest=smallest,
                c=c,
                cu=cu,
                s=s,
                value=value,
            )
            yield MisUpdate(shape=shape, c=c, cu=cu, vertices=vertices)
            if not self.stop.data[0]:
                return
            number += 1
