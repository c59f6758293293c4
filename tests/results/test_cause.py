"""Why one of two runs is slower: what the numbers of both tell, and where they tell nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from attrs import evolve

from gpusim.core.counters import CounterRow
from gpusim.core.states import State
from gpusim.results import RunData, compare
from gpusim.results.cause import Cause
from gpusim.runs.headline import StateSums, headline
from tests.results.conftest import COUNTERS, FAMILY_OF, STATES
from tests.results.placed import metrics_of_rows
from tests.results.test_comparison import read_back

Make = Callable[..., RunData]
TLB_L1 = State.TLB


def run_of(
    make: Make, cycles: int, waits: Mapping[int, int], counters: Mapping[str, list[int]] = {}
) -> RunData:
    """A run with some warp-cycles by state, and counters (``component.name``) by instance."""
    sums = np.zeros((2, 1, len(STATES)), np.int64)
    for state, spent in waits.items():
        sums[0, 0, state] = spent
    rows = [
        CounterRow(*name.split(".")[:1], number, "atax", name.split(".")[1], value, "1", name)
        for name, values in counters.items()
        for number, value in enumerate(values)
    ]
    rows = COUNTERS + rows
    apps = [evolve(app, end=cycles) for app in make().applications]
    numbers = headline(metrics_of_rows(rows), rows, StateSums(FAMILY_OF, sums), apps, cycles, 10**9)
    return make(summary=numbers, counters=rows, state_sums=sums, applications=apps)


def cause_of(a: RunData, b: RunData) -> Cause:
    with read_back(a) as of_a, read_back(b) as of_b:
        return compare(of_a, of_b).cause


def test_the_component_that_warps_wait_for_is_named(make: Make) -> None:
    counted = {"requests": 20, "merged": 0, "level_accesses": 40, "most_walks": 1}
    both = {f"walk.{name}": [value] for name, value in counted.items()}
    fast = both | {"walk.walks": [20], "walk.walk_cycles": [200], "walk.queue_cycles": [0]}
    slow = both | {"walk.walks": [20], "walk.walk_cycles": [1000], "walk.queue_cycles": [400]}
    cause = cause_of(
        run_of(make, 1000, {State.WALKER: 100, State.WALK: 200, State.DRAM: 50}, fast),
        run_of(make, 2000, {State.WALKER: 500, State.WALK: 700, State.DRAM: 150}, slow),
    )
    assert (cause.waits_for, cause.part) == ("page walks", 0.9)
    assert cause.sentence == (
        "Likely cause: waits for page walks (300 → 1,200 warp-cycles, 90 % of all that grew): "
        "time that a walk queues for a walker 0 → 20 cycles; "
        "walk latency, from getting a walker to the end 10 → 50 cycles."
    )
    assert [(one.a, one.b) for one in cause.evidence] == [(0, 20), (10, 50)]


@pytest.mark.parametrize("slower", [True, False])
def test_hot_banks_and_channels_are_named(make: Make, slower: bool) -> None:
    """In the slower run, whichever of the two it is; what is as uneven in both is not."""
    channels = {"dram.data_reads": [90, 10], "dram.walk_reads": [0, 0], "dram.writes": [0, 0]}
    even = run_of(make, 1000, {State.MSHR: 10}, {"l2.lookups": [25] * 4, **channels})
    hot = run_of(make, 3000, {State.MSHR: 90}, {"l2.lookups": [10, 45, 0, 45], **channels})
    cause = cause_of(even, hot) if slower else cause_of(hot, even)
    banks = "has more than an even part of its accesses at L2 banks 1 (45 %), 3 (45 %) of 4"
    run, other = "BA" if slower else "AB"
    assert f": {run} {banks}, {other} at most 25 % at one of 4" in cause.sentence
    assert cause.waits_for == "MSHRs"
    assert "DRAM" not in cause.sentence
    (bank,) = cause.evidence
    assert sorted((bank.a, bank.b)) == [0.25, 0.45]
    assert (bank.a < bank.b) == slower


def test_where_nothing_stands_out_that_is_told(make: Make) -> None:
    cause = cause_of(
        run_of(make, 1000, {State.L2: 10, State.DRAM: 10, TLB_L1: 10, State.READY: 90}),
        run_of(make, 2000, {State.L2: 50, State.DRAM: 40, TLB_L1: 40, State.READY: 80}),
    )
    assert cause == Cause(
        "No single cause stands out. Of the warp-cycles that grew, by what warps wait for: "
        "40 % the L2 cache, 30 % DRAM, 30 % the L1 TLB."
    )


def test_what_needs_no_cause(make: Make) -> None:
    run = run_of(make, 1000, {State.L2: 10})
    assert cause_of(run, run_of(make, 1005, {State.L2: 20})).sentence.startswith("Nothing to")
    assert cause_of(run, run_of(make, 2000, {State.L2: 9})).sentence == (
        "No cause stands out: no state has warp-cycles that grew."
    )
    more = run_of(make, 2000, {State.L2: 99}, {"sm.instructions": [0, 0, 100]})
    stopped = evolve(more, summary=run_of(make, 1000, {}, {"sm.instructions": [100]}).summary)
    assert "but do other work: warp instructions 100 → 200, +100.0 %" in (
        cause_of(run, stopped).sentence
    )
    assert cause_of(run, more) == Cause(
        "Likely cause: B does other work: warp instructions 100 → 200, +100.0 %."
    )
