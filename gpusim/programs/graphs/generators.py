"""Graphs that are made instead of read, by the name of their generator."""

from __future__ import annotations

from typing import Protocol

import attrs
import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from gpusim.core.untrusted import afford
from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.graph import MOST_ARCS, Graph, graph_from_arcs
from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.graphs.uniform_random import UniformRandom

_MEAN_DEGREE = 6
"""Mean degree of graphs whose generator has no parameter for it, at most."""


class GraphGenerator(Protocol):
    """A frozen attrs class of parameters that can make a graph."""

    def __hash__(self) -> int: ...

    def generate(self, seed: int) -> Graph:
        """The graph; the same for the same seed.

        Raises:
            ValueError: no such graph is possible.
        """


_VERTEX_BYTES, _ARC_BYTES = 24, 64
"""Bytes of memory that making a graph takes for each vertex and arc, about."""


def check_size(name: str, generator: GraphGenerator) -> None:
    """Refuse a graph that would take more memory than it may, before it is made.

    Raises:
        UserError: says how much.
        ValueError: it has more vertices than 32-bit numbers.
    """
    sizes = attrs.asdict(generator)  # type: ignore[arg-type]
    vertices = sizes.get("vertices") or sizes["width"] * sizes["height"]
    arcs = sizes.get("arcs") or vertices * sizes.get("mean_degree", _MEAN_DEGREE)
    if vertices > MOST_ARCS:
        raise ValueError(f"{vertices} vertices; at most {MOST_ARCS} are possible")
    afford(_VERTEX_BYTES * vertices + _ARC_BYTES * arcs, f"{name}: the graph")


@frozen
class RodiniaRandom:
    """Rodinia's own random graphs: every vertex draws 2 to 4 edges to uniform random partners.

    Both ends list the edge, with a weight of 1 to 10; loops and double edges stay.  Mean degree 6.

    Attributes:
        vertices: their number.
    """

    vertices: int = field(default=65536, validator=ge(1))

    def generate(self, seed: int) -> Graph:
        """The graph; the same for the same seed."""
        rng = np.random.default_rng(seed)
        one = np.repeat(np.arange(self.vertices), rng.integers(2, 5, self.vertices))
        other = rng.integers(0, self.vertices, len(one))
        weight = rng.integers(1, 11, len(one))
        tail = np.stack((one, other), axis=1).ravel()
        head = np.stack((other, one), axis=1).ravel()
        graph = graph_from_arcs(
            f"rodinia-{self.vertices}", self.vertices, tail, head, np.repeat(weight, 2)
        )
        return Graph(graph.name, graph.row, graph.col, graph.weight, source=0)


@frozen
class Grid:
    """A five-point grid in row-major numbering; 1000 x 1000 is the graph ecology1.

    Attributes:
        width, height: vertices in each direction.
    """

    width: int = field(default=1000, validator=ge(1))
    height: int = field(default=1000, validator=ge(1))

    def generate(self, seed: int) -> Graph:
        """The graph; neighbours ascending; nothing is random."""
        vertex = np.arange(self.width * self.height)
        x, y = vertex % self.width, vertex // self.width
        there = [y > 0, x > 0, x < self.width - 1, y < self.height - 1]
        steps = [-self.width, -1, 1, self.width]
        tail = np.concatenate([vertex[mask] for mask in there])
        head = np.concatenate([vertex[m] + step for m, step in zip(there, steps, strict=True)])
        return graph_from_arcs(f"grid-{self.width}x{self.height}", len(vertex), tail, head)


GENERATORS: dict[str, type[GraphGenerator]] = {
    "co-papers": CoPapers,
    "rodinia-random": RodiniaRandom,
    "grid": Grid,
    "uniform-random": UniformRandom,
    "k-way-tree": KWayTree,
}
