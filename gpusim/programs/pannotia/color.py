"""color_max and color_maxmin: graph colouring by random vertex values (Jones and Plassmann)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.pannotia.rows import FAR, Ints, VertexKernel, vertex_values
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
NONE = -1
"""The color of a vertex that has none yet."""


@define(kw_only=True, eq=False)
class ColorReset(Kernel):
    """Before color_maxmin's first round: no neighbour is larger or smaller.

    Registers are our choice.

    Attributes:
        largest, smallest: (vertices,) values of each vertex's neighbours.
        vertices: their number.
    """

    largest: Ints
    smallest: Ints
    vertices: int
    name: str = "ini"
    registers_per_thread: int = 8
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        k.store(self.largest, k.t, -1, inside)
        k.store(self.smallest, k.t, FAR, inside)


@define(kw_only=True, eq=False)
class ColorNeighbours(VertexKernel):
    """The extreme values among the uncolored neighbours of each uncolored vertex.

    The target of an arc is loaded again after the store that clears the way for another round,
    since it may alias.  An arc takes seven instructions, five more if its target has no color yet,
    as in PTX of nvcc 11.8 for sm_35.  A vertex of degree 1 sees no neighbour: the suite's way out
    for them.

    Attributes:
        stop: (1,) whether another round is needed.
        color: (vertices,) colors.
        value: (vertices,) random values.
        largest, smallest: (vertices,) results; color_max has no `smallest`.
    """

    stop: Ints
    color: Ints
    value: Ints
    largest: Ints
    smallest: Ints | None = None
    name: str = "color1"
    registers_per_thread: int = 30
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        t = k.t
        inside = threads_below(k, self.vertices)
        active = inside & (k.load(self.color, t, inside) == NONE)
        k.wait(0, inside)
        if not active.any():
            return
        edge, end = self.bounds(k, active)
        linked = end - edge != 1
        largest = np.full(k.threads, -1, dtype=np.int32)
        smallest = np.full(k.threads, FAR, dtype=np.int32)
        while (where := edge < end).any():
            target = k.load(self.col, edge, where)
            k.wait(0, where)
            k.compute(2, where)
            rival = where & linked & (k.load(self.color, target, where) == NONE)
            k.wait(0, where)
            if rival.any():
                k.store(self.stop, 0, 1, rival)
                target = k.load(self.col, edge, rival)
                k.wait(0, rival)
                value = k.load(self.value, target, rival)
                k.wait(0, rival)
                k.compute(5, rival)
                largest = np.where(rival, np.maximum(largest, value), largest)
                smallest = np.where(rival, np.minimum(smallest, value), smallest)
            k.compute(5, where)
            edge = edge + 1
            yield
        k.store(self.largest, t, largest, active)
        if self.smallest is not None:
            k.store(self.smallest, t, smallest, active)


@define(kw_only=True, eq=False)
class ColorExtremes(Kernel):
    """Vertices that no neighbour exceeds get this round's color; the smallest ones the next.

    Neighbours with equal values get equal colors: a flaw of the suite, kept.

    Attributes:
        color, value, largest, smallest: as in `ColorNeighbours`.
        vertices: their number.
        round_color: the color of this round.
    """

    color: Ints
    value: Ints
    largest: Ints
    smallest: Ints | None = None
    vertices: int
    round_color: int
    name: str = "color2"
    registers_per_thread: int = 10
    in_step = True

    def body(self, k: BlockTracer) -> None:
        t = k.t
        inside = threads_below(k, self.vertices)
        active = inside & (k.load(self.color, t, inside) == NONE)
        k.wait(0, inside)
        k.compute(7, active)
        value = k.load(self.value, t, active)
        largest = k.load(self.largest, t, active)
        k.wait(0, active)
        k.store(self.color, t, self.round_color, active & (value >= largest))
        if self.smallest is not None:
            value = k.load(self.value, t, active)
            smallest = k.load(self.smallest, t, active)
            k.wait(0, active)
            k.store(self.color, t, self.round_color + 1, active & (value <= smallest))


@frozen
class ColorParameters:
    """Parameters of color_max and color_maxmin.

    Attributes:
        rounds: most rounds, of two launches each; None: until all vertices have colors.
    """

    rounds: int | None = field(default=None, validator=optional(ge(1)))


class _Color(Program):
    """Rounds of both kernels: {stop = 0; color1; color2} until stop stays 0."""

    def __init__(self, name: str, rounds: int | None, graph: Graph, seed: int) -> None:
        super().__init__(name)
        self.vertices = graph.vertices
        self.rounds = rounds
        zeros = np.zeros(self.vertices, dtype=np.int32)
        self.row = self.memory.allocate("row", graph.row[:-1])
        self.col = self.memory.allocate("col", graph.col)
        self.stop = self.memory.allocate("stop", zeros[:1])
        self.color = self.memory.allocate("color", zeros + np.int32(NONE))
        self.value = self.memory.allocate("value", vertex_values(self.vertices, seed))
        self.largest = self.memory.allocate("max", zeros)
        self.smallest: Ints | None = None

    def _rounds(self, colors_a_round: int) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        neighbours = ColorNeighbours(
            shape=shape,
            row=self.row,
            col=self.col,
            vertices=self.vertices,
            stop=self.stop,
            color=self.color,
            value=self.value,
            largest=self.largest,
            smallest=self.smallest,
        )
        number = 0
        while self.rounds is None or number < self.rounds:
            self.stop.data[0] = 0
            yield neighbours
            yield ColorExtremes(
                shape=shape,
                color=self.color,
                value=self.value,
                largest=self.largest,
                smallest=self.smallest,
                vertices=self.vertices,
                round_color=1 + number * colors_a_round,
            )
            if not self.stop.data[0]:
                return
            number += 1


@program("color_max", ColorParameters, uses_graph=True)
class ColorMax(_Color):
    """One color a round.  Arrays in the order row, col, stop, color, value, max."""

    def __init__(self, parameters: ColorParameters, graph: Graph, seed: int) -> None:
        super().__init__("color_max", parameters.rounds, graph, seed)

    def launches(self) -> Iterator[Launch]:
        yield from self._rounds(1)


@program("color_maxmin", ColorParameters, uses_graph=True)
class ColorMaxMin(_Color):
    """Two colors a round, for the largest and the smallest vertices; arrays as color_max, then min.

    A vertex that is both (it has no uncolored neighbour) gets the second color.
    """

    def __init__(self, parameters: ColorParameters, graph: Graph, seed: int) -> None:
        super().__init__("color_maxmin", parameters.rounds, graph, seed)
        self.smallest = self.memory.allocate("min", np.zeros(self.vertices, dtype=np.int32))

    def launches(self) -> Iterator[Launch]:
        assert self.smallest is not None
        yield ColorReset(
            shape=Shape.linear(self.vertices, BLOCK),
            largest=self.largest,
            smallest=self.smallest,
            vertices=self.vertices,
        )
        yield from self._rounds(2)
