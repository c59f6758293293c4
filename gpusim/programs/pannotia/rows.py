"""What Pannotia's kernels with one vertex a thread share: rows of the graph and their arcs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.graphs.graph import Graph, graph_from_arcs

UNROLL = 4
"""Arcs a pass of a loop without stores: their loads are issued together."""

VALUES = 2048
"""Vertex values of color and mis are from 0 to VALUES - 1."""

FAR = 999_999
"""Larger than every vertex value and every weight."""

Arcs = NDArray[np.int32]


@frozen
class Rows:
    """The arcs of a graph in memory, for kernels with one vertex a thread.

    Attributes:
        row: (vertices,) or more, where each vertex's arcs start.
        col: targets of the arcs.
        vertices: their number.
    """

    row: gpu.Ints
    col: gpu.Ints
    vertices: int

    @classmethod
    def place(cls, memory: gpu.AddressSpace, graph: Graph, suffix: str = "") -> Rows:
        """Allocate ``row`` and ``col``, with the end of the last row.

        Args:
            memory: for both arrays.
            graph: whose arcs they are.
            suffix: of the arrays' names.
        """
        row = memory.allocate(f"row{suffix}", graph.row)
        return cls(row, memory.allocate(f"col{suffix}", graph.col), graph.vertices)

    @classmethod
    def place_starts(cls, memory: gpu.AddressSpace, graph: Graph) -> Rows:
        """Allocate ``row`` and ``col``, without the end of the last row."""
        row = memory.allocate("row", graph.row[:-1])
        return cls(row, memory.allocate("col", graph.col), graph.vertices)

    def known_end(self, k: gpu.BlockTracer, where: gpu.Mask) -> tuple[Arcs, Arcs]:
        """Each thread's first arc, and the one after its last.

        L row[t + 1], then L row[t]; the end of the last vertex is known to the kernel.
        """
        inner = where & (k.t < self.vertices - 1)
        end = np.where(inner, k.load(self.row, k.t + 1, inner), np.int32(self.col.length))
        start = k.load(self.row, k.t, where)
        k.wait(0, where)
        return start, np.where(where, end, start)

    def loaded_end(self, k: gpu.BlockTracer, where: gpu.Mask) -> tuple[Arcs, Arcs]:
        """Each thread's first arc, and the one after its last: L row[t], L row[t + 1]; no wait."""
        start = k.load(self.row, k.t, where)
        return start, np.where(where, k.load(self.row, k.t + 1, where), start)


def unrolled(start: Arcs, end: Arcs) -> Iterator[list[tuple[Arcs, gpu.Mask]]]:
    """The arcs of all threads, `UNROLL` at a time: (threads,) arcs, and which threads have one."""
    while (start < end).any():
        group = [(start + i, start + i < end) for i in range(UNROLL)]
        yield [(arc, where) for arc, where in group if where.any()]
        start = start + UNROLL


def transposed(graph: Graph) -> Graph:
    """The same graph with its arcs turned around; their order follows the old tails."""
    tail = np.repeat(np.arange(graph.vertices), graph.degrees)
    head = graph.col.astype(np.int64)
    return graph_from_arcs(graph.name, graph.vertices, head, tail, graph.weight)


def vertex_values(vertices: int, seed: int) -> NDArray[np.int32]:
    """(vertices,) random values from 0 to VALUES - 1; large graphs have many equal ones."""
    return np.random.default_rng(seed).integers(0, VALUES, vertices, dtype=np.int32)


def whole_weights(graph: Graph, seed: int) -> NDArray[np.int32]:
    """(arcs,) the arcs' weights; where the input has none, random ones from 1 to 10 (our choice).

    Raises:
        ValueError: a weight is not a whole number from 0 to FAR - 1.
    """
    if graph.weight is None:
        return np.random.default_rng(seed).integers(1, 11, graph.arcs, dtype=np.int32)
    whole = graph.weight.astype(np.int64)
    wrong = (whole != graph.weight) | (whole < 0) | (whole >= FAR)
    if wrong.any():
        raise ValueError(
            f"the weights of {graph.name} must be whole numbers from 0 to {FAR - 1}: "
            f"{graph.weight[wrong][0]}"
        )
    return whole.astype(np.int32)
