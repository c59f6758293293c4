"""The generators uniform-random and k-way-tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.graphs.uniform_random import UniformRandom


def test_uniform_random_is_like_the_suites_file() -> None:
    """Pannotia's 1k_128k: degrees 95 to 164, deviation 11.3, 7,817 double arcs, weights 0 to 99."""
    graph = UniformRandom().generate(0)
    assert (graph.vertices, graph.arcs) == (1024, 131072)
    tail = np.repeat(np.arange(1024), graph.degrees)
    assert graph.degrees.std() == pytest.approx(11.3, rel=0.1)
    assert (tail != graph.col).all()
    assert graph.arcs - len(np.unique(tail * 1024 + graph.col)) == pytest.approx(7817, rel=0.05)
    assert np.bincount(graph.col, minlength=1024).std() == pytest.approx(11.3, rel=0.1)
    assert (graph.weight.min(), graph.weight.max()) == (0, 99)
    assert graph.weight.mean() == pytest.approx(49.5, rel=0.01)


def test_uniform_random_repeats() -> None:
    one, same, other = (UniformRandom(50, 400).generate(seed) for seed in (3, 3, 4))
    assert (one.col == same.col).all()
    assert (one.weight == same.weight).all()
    assert (one.col != other.col).any()


@given(st.integers(1, 60), st.integers(1, 5))
def test_k_way_tree_lists_children_then_the_parent(vertices: int, degree: int) -> None:
    graph = KWayTree(vertices, degree).generate(0)
    for v in range(vertices):
        children = [c for c in range(degree * v + 1, degree * (v + 1) + 1) if c < vertices]
        parent = [(v - 1) // degree] if v else []
        assert graph.col[graph.row[v] : graph.row[v + 1]].tolist() == children + parent
