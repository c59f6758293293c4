"""bfs: how many levels there are."""

from __future__ import annotations

import numpy as np

from gpusim.programs.graphs.k_way_tree import KWayTree
from gpusim.programs.rodinia.bfs import Bfs, BfsParameters
from tests.programs.drain import drain


def test_levels_can_be_limited() -> None:
    """A tree of 1 + 3 + 9 + 27 vertices; the last level of a whole search finds nothing."""
    graph = KWayTree(40, 3).generate(0)
    whole, part = Bfs(BfsParameters(), graph, 0), Bfs(BfsParameters(levels=2), graph, 0)
    assert (len(drain(whole)), len(drain(part))) == (2 * 4, 2 * 2)
    assert np.array_equal(np.bincount(whole.cost.data), [1, 3, 9, 27])
    assert np.bincount(part.cost.data + 1).tolist() == [27, 1, 3, 9]
