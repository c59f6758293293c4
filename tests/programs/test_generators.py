"""Generated graphs have the statistics that they promise."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from gpusim.programs.graphs.co_papers import CoPapers
from gpusim.programs.graphs.generators import Grid, RodiniaRandom
from gpusim.programs.graphs.graph import Graph


def clustering(graph: Graph) -> tuple[float, float]:
    """Mean local clustering and transitivity."""
    shape = (graph.vertices, graph.vertices)
    ones = np.ones(graph.arcs, dtype=np.int64)
    matrix = scipy.sparse.csr_matrix((ones, graph.col, graph.row), shape=shape)
    closed = np.asarray((matrix @ matrix).multiply(matrix).sum(axis=1)).ravel()
    degrees = graph.degrees.astype(np.int64)
    pairs = degrees * (degrees - 1)
    return float((closed / np.maximum(pairs, 1)).mean()), float(closed.sum() / pairs.sum())


def is_simple_and_undirected(graph: Graph) -> bool:
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    keys = tails * graph.vertices + graph.col
    back = graph.col.astype(np.int64) * graph.vertices + tails
    ascending = bool((np.diff(keys) > 0).all())
    return ascending and bool((tails != graph.col).all()) and set(keys) == set(back)


def test_clustering_of_the_test_agrees_with_networkx() -> None:
    graph = CoPapers(300, 16.0, 64, 32).generate(0)
    made = nx.Graph()
    made.add_nodes_from(range(graph.vertices))
    tails = np.repeat(np.arange(graph.vertices), graph.degrees)
    made.add_edges_from(zip(tails.tolist(), graph.col.tolist(), strict=True))
    assert clustering(graph) == pytest.approx((nx.average_clustering(made), nx.transitivity(made)))


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
def test_co_papers_match_the_acl_anthology(seed: int) -> None:
    graph = CoPapers(20000).generate(seed)
    local, transitivity = clustering(graph)
    assert graph.degrees.mean() == pytest.approx(62.49, rel=0.03)
    assert graph.degrees.max() == 1184
    assert (graph.degrees == 0).sum() == round(20000 * 3225 / 61023)
    assert local == pytest.approx(0.7111, rel=0.03)
    assert transitivity == pytest.approx(0.6366, rel=0.05)
    assert is_simple_and_undirected(graph)


def test_smaller_co_papers_are_alike() -> None:
    graph = CoPapers(4000).generate(0)
    local, _ = clustering(graph)
    assert graph.degrees.mean() == pytest.approx(62.49, rel=0.08)
    assert graph.degrees.max() == 1184
    assert (graph.degrees == 0).sum() == round(4000 * 3225 / 61023)
    assert local == pytest.approx(0.7111, rel=0.03)
    assert is_simple_and_undirected(graph)


def test_co_papers_have_the_largest_clique_at_vertex_0() -> None:
    graph = CoPapers(3000, 40.0, 400, 150).generate(2)
    made = nx.Graph(
        (u, int(v)) for u in range(3000) for v in graph.col[graph.row[u] : graph.row[u + 1]]
    )
    assert graph.degrees[0] >= 149
    common = nx.find_cliques(made.subgraph([0, *made[0]]), nodes=[0])
    assert max(map(len, common)) >= 150


def test_co_papers_depend_on_the_seed_only() -> None:
    one, same, other = (CoPapers(500, 16.0, 64, 32).generate(seed) for seed in (1, 1, 2))
    assert np.array_equal(one.col, same.col)
    assert not np.array_equal(one.degrees, other.degrees)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((100, 16.0, 99, 32), "must be less than"),
        ((1000, 400.0, 64, 32), "mean_degree = 400.0 cannot be reached"),
        ((200, 2.0, 64, 60), "mean_degree = 2.0 cannot be reached"),
    ],
)
def test_impossible_co_papers(parameters: tuple[int, float, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CoPapers(*parameters).generate(0)


def test_rodinia_random_graphs() -> None:
    graph = RodiniaRandom(20000).generate(0)
    assert graph.degrees.mean() == pytest.approx(6, rel=0.02)
    assert 16 <= graph.degrees.max() <= 24
    assert graph.degrees.min() >= 2
    assert graph.source == 0
    assert graph.weight is not None
    assert set(graph.weight.tolist()) == set(range(1, 11))
    tails = np.repeat(np.arange(20000), graph.degrees)
    arcs = sorted(zip(tails.tolist(), graph.col.tolist(), graph.weight.tolist(), strict=True))
    assert arcs == sorted((v, u, w) for u, v, w in arcs)


def test_grid_is_ecology1() -> None:
    graph = Grid().generate(0)
    assert (graph.vertices, graph.arcs) == (1_000_000, 2 * 1_998_000)
    assert graph.col[graph.row[1001] : graph.row[1002]].tolist() == [1, 1000, 1002, 2001]
    assert graph.col[:2].tolist() == [1, 1000]
    assert is_simple_and_undirected(Grid(7, 5).generate(0))
