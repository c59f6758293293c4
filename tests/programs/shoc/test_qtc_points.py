"""qtc's points: their distances and neighbours."""

import numpy as np
import pytest

from gpusim.programs.shoc.qtc_points import neighbourhood, random_points


def test_neighbours_and_distances() -> None:
    points = random_points(500, np.random.default_rng(0))
    assert points.shape == (500, 2)
    assert points.min() >= 0
    assert points.max() <= 20
    near = neighbourhood(points, 1.0)
    exact = np.sqrt(((points[:, None].astype(float) - points[None]) ** 2).sum(axis=2))
    np.fill_diagonal(exact, 9.0)
    for point, row in enumerate(near.neighbours):
        close = np.flatnonzero(exact[point] < 1)
        assert row[: len(close)].tolist() == close.tolist()
        assert (row[len(close) :] == -1).all()
        assert near.distance[point, close] == pytest.approx(exact[point, close], rel=1e-5)
    assert (near.distance < 1e30).sum() == (near.neighbours >= 0).sum()
    with pytest.raises(ValueError, match="threshold = 1e-09: no two of the 500 points"):
        neighbourhood(points, 1e-9)
