"""Graphs for the table of programs, and what networkx says of them."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpusim.programs.graphs.graph import Graph, graph_from_arcs

STAR = graph_from_arcs("star", 600, np.array([0, 0, 1, 2, 599]), np.array([599, 1, 0, 0, 0]))
"""0 has the neighbours 599 and 1; they and 2 have the neighbour 0."""

FIVE = [10, 20, 30, 40, 50]
FIVE_TO_ONE = graph_from_arcs("five to one", 100, np.array(FIVE), np.zeros(5, dtype=np.int64))

AFTER = list(range(1, 33))
"""The rows after those of a warp's lanes."""


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    vertices = draw(st.integers(1, 40))
    vertex = st.integers(0, vertices - 1)
    arcs = np.array(draw(st.lists(st.tuples(vertex, vertex), max_size=120)), dtype=np.int64)
    arcs = arcs.reshape(-1, 2)
    return graph_from_arcs("small", vertices, arcs[:, 0], arcs[:, 1])


def tails(graph: Graph) -> NDArray[np.int64]:
    """Where each arc comes from."""
    return np.repeat(np.arange(graph.vertices), graph.degrees)


def neighbours(graph: Graph, vertex: int) -> list[int]:
    """Targets of a vertex's arcs."""
    found: list[int] = graph.col[graph.row[vertex] : graph.row[vertex + 1]].tolist()
    return found


def without_double_arcs(graph: Graph) -> Graph:
    keys = np.unique(tails(graph) * graph.vertices + graph.col)
    return graph_from_arcs("simple", graph.vertices, *np.divmod(keys, graph.vertices))


def to_networkx(graph: Graph) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(range(graph.vertices))
    made.add_edges_from(zip(tails(graph).tolist(), graph.col.tolist(), strict=True))
    return made


def levels(graph: Graph, source: int) -> list[int]:
    """Steps from a source, -1 where no path leads."""
    found = nx.single_source_shortest_path_length(to_networkx(graph), source)
    return [found.get(vertex, -1) for vertex in range(graph.vertices)]


def ranks(graph: Graph, iterations: int) -> NDArray[np.float64]:
    """The power method of PageRank, arc by arc, in double precision."""
    found = np.full(graph.vertices, 1 / graph.vertices)
    for _ in range(iterations):
        incoming = np.zeros(graph.vertices)
        np.add.at(incoming, graph.col, found[tails(graph)] / graph.degrees[tails(graph)])
        found = 0.15 / graph.vertices + 0.85 * incoming
    return found
