"""Which warps waited for which page walk."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results import Result
from gpusim.views.timelines import Selection, stalled_on, walk_waits, walks_at
from tests.views.timelines.made import made

MANY = {"tlb.L1.misses": "mshr", "walk.sent_by": "walkers"}
"""An SM waits for several pages at once."""


@pytest.fixture(scope="module")
def run() -> Iterator[Result]:
    """Eight warps on each of two SMs; the L2 TLB and the walkers are shared."""
    model = gpusim.load_model("maxwell-mask", overrides=MANY)
    work = gpusim.load_workload("pagerank", "smoke")
    records = ["intervals", "requests", "walks"]
    with gpusim.simulate(model, work, record=records) as result:
        yield result


def test_they_are_the_long_misses_of_the_first_tlb(run: Result) -> None:
    misses = walk_waits(run).groupby(["walk", "sm"]).warp.nunique()
    counters = run.counters.groupby("counter").value
    assert len(misses) == counters.sum()["long_misses"] > 1
    assert misses.sum() == counters.sum()["long_miss_warps"]
    assert misses.max() == counters.max()["most_miss_warps"] == 8
    assert misses.max() == run.summary["tlb_L1_stalled_warps_max"]


def test_a_warp_waits_until_its_walk_is_done(run: Result) -> None:
    waits = walk_waits(run).join(run.table("walks", columns=["finished"]), on="walk")
    assert set(waits.walk) == set(range(run.tables["walks"]))
    assert (waits.since < waits.finished).all()
    assert (waits.until >= waits.finished).all()


def test_warps_that_stall_on_a_walk_are_among_them(run: Result) -> None:
    waits = walk_waits(run)
    for cycle in range(30, 130, 25):
        under_way = waits[(waits.since <= cycle) & (waits.until > cycle)]
        stalled = stalled_on(run, cycle)
        assert set(stalled[stalled.state == "walk"].warp) <= set(under_way.warp)
        assert len(walks_at(run, cycle)) >= under_way.walk.nunique() > 0


def test_a_selection(run: Result) -> None:
    waits, of_sm = walk_waits(run), walk_waits(run, Selection(sm=1))
    assert of_sm.equals(waits[waits.sm == 1].reset_index(drop=True))
    assert len(of_sm) < len(waits)


def test_refusals() -> None:
    with made(walks=[]) as result, pytest.raises(UserError, match="record = requests"):
        walk_waits(result)
    with made(stages=[], requests=[]) as result, pytest.raises(UserError, match="record = walks"):
        walk_waits(result)
