"""What streamcluster's host decides between its launches."""

import numpy as np
import pytest

from gpusim.programs.kernel import Program
from gpusim.programs.rodinia.streamcluster import POINT
from tests.programs.contract.entries import Start
from tests.programs.drain import drain

POINTS = 600


def started(most: int, candidates: int) -> Program:
    parameters = {"fewest_centers": 10, "most_centers": most, "candidates": candidates}
    return Start(
        program="streamcluster",
        parameters={"points": POINTS, "dimensions": 6, **parameters},
        seed=1,
    ).application()


def price_of_a_center(distance: np.ndarray) -> float:
    """What the last of the first centres saved, the generator's second draw."""
    rng = np.random.default_rng(1)
    rng.random((6, POINTS), dtype=np.float32)
    first = rng.choice(POINTS, 10, replace=False)
    one_less, all_ten = (distance[:, first[:count]].min(axis=1).sum() for count in (9, 10))
    return float(one_less - all_ten)


def test_every_decision_makes_the_clustering_cheaper() -> None:
    program = started(20, 40)
    rows = program.memory["coord"].data.reshape(6, -1).T.astype(float)
    distance = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    price = price_of_a_center(distance)
    counts, totals = [], []
    for launch in program.launches():
        points = program.memory["p"].data.view(POINT)
        counts.append(len(np.unique(points["assign"])))
        totals.append(points["cost"].sum() + price * counts[-1])
        own = np.arange(POINTS), points["assign"]
        assert points["cost"] == pytest.approx(distance[own], abs=1e-5)
        for block in range(launch.blocks):
            for _ in launch.run_block(block, 32):
                pass
    assert (np.diff(totals) <= 1e-3).all()
    assert totals[-1] < totals[0]
    assert 10 < max(counts) <= 20


def test_no_more_centers_than_allowed() -> None:
    program = started(10, 20)
    drain(program)
    points = program.memory["p"].data.view(POINT)
    assert len(np.unique(points["assign"])) == 10
