"""sssp and sssp_ell: shortest paths from one vertex (Bellman and Ford), as min-plus products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field, frozen
from attrs.validators import ge, optional
from numpy.typing import NDArray

from gpusim.core.warp_program import Launch
from gpusim.programs.catalog import program
from gpusim.programs.graphs.graph import Graph
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.lane_record import Mask
from gpusim.programs.pannotia.rows import (
    UNROLL,
    Ints,
    VertexKernel,
    load_bounds,
    transposed,
    unrolled,
    whole_weights,
)
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 64

UNREACHED = 99_999_999
"""The distance of a vertex that no path has reached; also the weight of an empty slot."""

MOST_SLOTS = 1 << 28
"""Of the ELL format: two arrays of 1 GiB."""


@define(kw_only=True, eq=False)
class _Vectors(Kernel):
    """A kernel on both vectors of distances; registers are our choice.

    Attributes:
        old, new: (vertices,) distances before and after a round, `vector1` and `vector2`.
        vertices: their number.
    """

    old: Ints
    new: Ints
    vertices: int
    registers_per_thread: int = 10


@define(kw_only=True, eq=False)
class SsspStart(_Vectors):
    """Only the source is reached.

    Attributes:
        source: where the paths start.
    """

    source: int
    name: str = "vector_init"
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        distance = np.where(k.t == self.source, 0, UNREACHED)
        k.store(self.old, k.t, distance, inside)
        k.store(self.new, k.t, distance, inside)


@define(kw_only=True, eq=False)
class SsspAssign(_Vectors):
    """The new distances become the old ones."""

    name: str = "vector_assign"
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        new = k.load(self.new, k.t, inside)
        k.wait(0, inside)
        k.store(self.old, k.t, new, inside)


@define(kw_only=True, eq=False)
class SsspCompare(_Vectors):
    """Has a distance changed?

    Attributes:
        stop: (1,) the answer.
    """

    stop: Ints
    name: str = "vector_diff"
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.vertices)
        new = k.load(self.new, k.t, inside)
        old = k.load(self.old, k.t, inside)
        k.wait(0, inside)
        k.store(self.stop, 0, 1, inside & (new != old))


def _relax(
    k: BlockTracer,
    kernel: SsspRows | SsspSlots,
    slots: Sequence[tuple[NDArray[np.int32] | NDArray[np.int64], Mask]],
    least: NDArray[np.int32],
) -> NDArray[np.int32]:
    """The least distances, now over some arcs more.

    The loads of `data` and `col` are issued together, then those of the distances.  Four
    instructions an arc, five for the loop of four, as in PTX of nvcc 11.8 for sm_35.

    Args:
        k: the block.
        kernel: with the arrays.
        slots: (threads,) places of arcs in the arrays, and which threads have one.
        least: (threads,) the distances so far.
    """
    first = slots[0][1]
    weights = [k.load(kernel.data, slot, where) for slot, where in slots]
    origins = [k.load(kernel.col, slot, where) for slot, where in slots]
    k.wait(0, first)
    paths = [
        k.load(kernel.old, origin, where) for origin, (_, where) in zip(origins, slots, strict=True)
    ]
    k.wait(0, first)
    for weight, path, (_, where) in zip(weights, paths, slots, strict=True):
        k.compute(4, where)
        least = np.where(where, np.minimum(least, weight + path), least)
    k.compute(5, first)
    return least


@define(kw_only=True, eq=False)
class SsspRows(VertexKernel):
    """The least distance over all arcs into a vertex, from compressed sparse rows.

    There is no store in the loop: the loads of four arcs are issued together.  Registers are our
    choice.

    Attributes:
        data: (arcs,) weights.
        old, new: as in `SsspAssign`.
    """

    data: Ints
    old: Ints
    new: Ints
    name: str = "spmv_min_dot_plus_kernel"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        start, end = load_bounds(k, self.row, inside)
        least = k.load(self.old, k.t, inside)
        k.wait(0, inside)
        for arcs in unrolled(start, end):
            least = _relax(k, self, arcs, least)
            yield
        k.store(self.new, k.t, least, inside)


@define(kw_only=True, eq=False)
class SsspSlots(Kernel):
    """The same from the ELL format: slot i of vertex t at ``t + i * vertices``, coalesced.

    All vertices go through as many slots as the largest in-degree; empty ones lead from vertex 0
    and are too long (our choice).  Registers are our choice, too.

    Attributes:
        data, col: (slots * vertices,) weights, and where the arcs come from.
        old, new: as in `SsspAssign`.
        vertices: their number.
        slots: of each vertex.
    """

    data: Ints
    col: Ints
    old: Ints
    new: Ints
    vertices: int
    slots: int
    name: str = "ell_min_dot_plus_kernel"
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> Iterator[None]:
        inside = threads_below(k, self.vertices)
        least = k.load(self.old, k.t, inside)
        k.wait(0, inside)
        for first in range(0, self.slots, UNROLL):
            group = range(first, min(first + UNROLL, self.slots))
            slots = [(k.t + slot * self.vertices, inside) for slot in group]
            least = _relax(k, self, slots, least)
            yield
        k.store(self.new, k.t, least, inside)


@frozen
class SsspParameters:
    """Parameters of sssp and sssp_ell.

    Attributes:
        source: where the paths start (the suite: 0).
        rounds: most rounds, of three launches each; None: until no distance changes, at most
            vertices - 1 (the suite).
    """

    source: int = field(default=0, validator=ge(0))
    rounds: int | None = field(default=None, validator=optional(ge(1)))


class _Sssp(Program):
    """{stop = 0; assign; min-plus product; compare} until no distance changes.

    The graph is stored with its arcs reversed.
    """

    def __init__(self, name: str, parameters: SsspParameters, graph: Graph) -> None:
        super().__init__(name)
        self.vertices = graph.vertices
        self.source = parameters.source
        if self.source >= self.vertices:
            raise ValueError(f"source = {self.source}: {graph.name} has {self.vertices} vertices")
        self.rounds = min(parameters.rounds or self.vertices, self.vertices - 1)

    def _allocate_vectors(self) -> None:
        zeros = np.zeros(self.vertices, dtype=np.int32)
        self.stop = self.memory.allocate("stop", zeros[:1])
        self.old = self.memory.allocate("vector1", zeros)
        self.new = self.memory.allocate("vector2", zeros)

    @abstractmethod
    def _product(self, shape: Shape) -> Launch:
        """The min-plus product."""

    def launches(self) -> Iterator[Launch]:
        shape = Shape.linear(self.vertices, BLOCK)
        old, new, vertices = self.old, self.new, self.vertices
        yield SsspStart(shape=shape, old=old, new=new, vertices=vertices, source=self.source)
        assign = SsspAssign(shape=shape, old=old, new=new, vertices=vertices)
        product = self._product(shape)
        compare = SsspCompare(shape=shape, old=old, new=new, vertices=vertices, stop=self.stop)
        for _ in range(self.rounds):
            self.stop.data[0] = 0
            yield assign
            yield product
            yield compare
            if not self.stop.data[0]:
                return


@program("sssp", SsspParameters, uses_graph=True)
class Sssp(_Sssp):
    """Shortest paths on compressed sparse rows.

    Arrays in the order row, col, data, stop, vector1, vector2.
    """

    def __init__(self, parameters: SsspParameters, graph: Graph, seed: int) -> None:
        super().__init__("sssp", parameters, graph)
        reverse = transposed(graph)
        self.row = self.memory.allocate("row", reverse.row)
        self.col = self.memory.allocate("col", reverse.col)
        self.data = self.memory.allocate("data", whole_weights(reverse, seed))
        self._allocate_vectors()

    def _product(self, shape: Shape) -> Launch:
        return SsspRows(
            shape=shape,
            row=self.row,
            col=self.col,
            vertices=self.vertices,
            data=self.data,
            old=self.old,
            new=self.new,
        )


@program("sssp_ell", SsspParameters, uses_graph=True)
class SsspEll(_Sssp):
    """Shortest paths on the ELL format.  Arrays in the order col, data, stop, vector1, vector2."""

    def __init__(self, parameters: SsspParameters, graph: Graph, seed: int) -> None:
        super().__init__("sssp_ell", parameters, graph)
        reverse = transposed(graph)
        degrees = reverse.degrees
        self.slots = int(degrees.max())
        if self.slots * self.vertices > MOST_SLOTS:
            raise ValueError(
                f"{graph.name} has a vertex of in-degree {self.slots}, too much for the ELL format "
                f"of {self.vertices} vertices; at most {MOST_SLOTS} slots are allowed"
            )
        col = np.zeros((self.slots, self.vertices), dtype=np.int32)
        data = np.full_like(col, UNREACHED)
        vertex = np.repeat(np.arange(self.vertices), degrees)
        slot = np.arange(reverse.arcs) - reverse.row[vertex]
        col[slot, vertex] = reverse.col
        data[slot, vertex] = whole_weights(reverse, seed)
        self.col = self.memory.allocate("col", col)
        self.data = self.memory.allocate("data", data)
        self._allocate_vectors()

    def _product(self, shape: Shape) -> Launch:
        return SsspSlots(
            shape=shape,
            data=self.data,
            col=self.col,
            old=self.old,
            new=self.new,
            vertices=self.vertices,
            slots=self.slots,
        )
