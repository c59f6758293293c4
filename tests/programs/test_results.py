"""Kernels compute what their names say."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph, graph_from_arcs
from gpusim.programs.pannotia.pagerank import Pagerank, PagerankParameters
from gpusim.programs.rodinia.bfs import Bfs, BfsParameters
from tests.programs.drain import drain


def to_networkx(graph: Graph) -> nx.DiGraph:
    made = nx.DiGraph()
    made.add_nodes_from(range(graph.vertices))
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    made.add_edges_from(zip(tails.tolist(), graph.col.tolist(), strict=True))
    return made


def bfs_levels(graph: Graph, source: int) -> list[int]:
    found = nx.single_source_shortest_path_length(to_networkx(graph), source)
    return [found.get(vertex, -1) for vertex in range(graph.vertices)]


@pytest.mark.parametrize(
    "graph",
    [
        CoPapers(600, 16.0, 64, 32).generate(3),
        RodiniaRandom(1500).generate(1),
        Grid(20, 13).generate(0),
    ],
    ids=lambda graph: graph.name,
)
def test_bfs_finds_the_levels(graph: Graph) -> None:
    program = Bfs(BfsParameters(source=0), graph, 0)
    names = drain(program)
    levels = bfs_levels(graph, 0)
    assert program.cost.data.tolist() == levels
    assert names == ["bfs_kernel1", "bfs_kernel2"] * (max(levels) + 1)


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    vertices = draw(st.integers(1, 40))
    vertex = st.integers(0, vertices - 1)
    arcs = np.array(draw(st.lists(st.tuples(vertex, vertex), max_size=120)), dtype=np.int64)
    arcs = arcs.reshape(-1, 2)
    return graph_from_arcs("small", vertices, arcs[:, 0], arcs[:, 1])


@given(small_graphs())
def test_bfs_on_any_directed_graph(graph: Graph) -> None:
    program = Bfs(BfsParameters(source=0), graph, 0)
    drain(program)
    assert program.cost.data.tolist() == bfs_levels(graph, 0)


def test_bfs_starts_where_the_file_says_or_where_neighbours_are() -> None:
    arcs = np.array([2, 3]), np.array([3, 2])
    graph = graph_from_arcs("g", 4, *arcs)
    assert Bfs(BfsParameters(), graph, 0).cost.data.tolist() == [-1, -1, 0, -1]
    told = Graph("g", graph.row, graph.col, source=1)
    assert Bfs(BfsParameters(), told, 0).cost.data.tolist() == [-1, 0, -1, -1]
    with pytest.raises(ValueError, match="source = 4: g has 4 vertices"):
        Bfs(BfsParameters(source=4), graph, 0)


def reference_ranks(graph: Graph, iterations: int) -> np.ndarray:
    """The same power method, arc by arc, in double precision."""
    ranks = np.full(graph.vertices, 1 / graph.vertices)
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    for _ in range(iterations):
        incoming = np.zeros(graph.vertices)
        np.add.at(incoming, graph.col, ranks[tails] / graph.degrees[tails])
        ranks = 0.15 / graph.vertices + 0.85 * incoming
    return ranks


@given(small_graphs(), st.integers(1, 4))
def test_pagerank_iterates_the_power_method(graph: Graph, iterations: int) -> None:
    program = Pagerank(PagerankParameters(iterations), graph, 0)
    names = drain(program)
    assert names == ["inibuffer"] + ["pagerank1", "pagerank2"] * iterations
    assert program.rank.data == pytest.approx(reference_ranks(graph, iterations), rel=1e-4)
    assert not program.incoming.data.any()


def test_pagerank_converges_to_the_pagerank_of_networkx() -> None:
    graph = CoPapers(300, 16.0, 64, 32).generate(5)
    assert (graph.degrees == 0).any(), "dangling vertices must be part of the test"
    program = Pagerank(PagerankParameters(iterations=80), graph, 0)
    drain(program)
    expected = nx.pagerank(to_networkx(graph), alpha=0.85, tol=1e-10, max_iter=500)
    ranks = program.rank.data / program.rank.data.sum()
    assert ranks == pytest.approx([expected[v] for v in range(graph.vertices)], rel=1e-3)


def test_twenty_iterations_are_close_to_the_fixed_point() -> None:
    graph = CoPapers(300, 16.0, 64, 32).generate(5)
    program = Pagerank(PagerankParameters(), graph, 0)
    drain(program)
    limit = reference_ranks(graph, 300)
    assert np.abs(program.rank.data - limit).sum() < 0.85**20
