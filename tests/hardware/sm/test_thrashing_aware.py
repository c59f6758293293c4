"""Thrashing-aware placement against a list of all lookups that is counted anew each time."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.sm.thrashing_aware import Halving, ThrashingAwarePlacement
from tests.examples import examples
from tests.hardware.sm.test_schedulers import Placed

SMS = 4
LAUNCH = Placed()

lookups = st.tuples(st.just("lookup"), st.integers(0, SMS - 1), st.booleans(), st.integers(0, 3))
placements = st.tuples(st.just("place"), st.sets(st.integers(0, SMS - 1)))
events = st.lists(st.one_of(lookups, lookups, lookups, placements), max_size=120)
options = st.fixed_dictionaries(
    {
        "window": st.sampled_from(["cumulative", "lookups", "cycles", "decay"]),
        "length": st.integers(2, 12),
        "min_samples": st.integers(0, 6),
        "reference": st.sampled_from(["mean", "median", "min"]),
        "slack": st.sampled_from([0.0, 0.25, 1.0]),
    }
)


class NaivePlacement:
    """Keeps every lookup for ever; the rates are worked out when they are asked for."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.log: list[list[tuple[int, bool]]] = [[] for _ in range(SMS)]
        self.now = 0
        self.pointer = 0

    def lookup(self, sm: int, hit: bool, cycle: int) -> None:
        self.log[sm].append((cycle, hit))
        self.now = cycle

    def counts(self, sm: int) -> tuple[int, int]:
        window, length = self.options["window"], self.options["length"]
        hits = [hit for _, hit in self.log[sm]]
        if window == "lookups":
            hits = hits[-length:]
        elif window == "cycles":
            hits = [hit for cycle, hit in self.log[sm] if cycle > self.now - length]
        elif window == "decay":
            hit_count = total = 0
            for hit in hits:
                hit_count, total = hit_count + hit, total + 1
                if total == length:
                    hit_count, total = hit_count // 2, total // 2
            return hit_count, total
        return sum(hits), len(hits)

    def miss_rate(self, sm: int) -> float:
        hits, total = self.counts(sm)
        enough = total > 0 and total >= self.options["min_samples"]
        return 1 - hits / total if enough else 0.0

    def pick(self, free: set[int]) -> int | None:
        rates = [self.miss_rate(sm) for sm in range(SMS)]
        reference = {"mean": mean, "median": median, "min": min}[self.options["reference"]](rates)
        limit = reference * (1 + self.options["slack"])
        order = [(self.pointer + step) % SMS for step in range(SMS)]
        low = [sm for sm in order if sm in free and rates[sm] <= limit]
        chosen = (low or [sm for sm in order if sm in free] or [None])[0]
        if chosen is not None:
            self.pointer = (chosen + 1) % SMS
        return chosen


@settings(max_examples=examples(300))
@given(options, events)
def test_against_a_log_of_all_lookups(options: dict[str, Any], events: list[Any]) -> None:
    placement = ThrashingAwarePlacement(**options)
    naive = NaivePlacement(options)
    cycle = 0
    for event in events:
        if event[0] == "lookup":
            _, sm, hit, later = event
            cycle += later
            placement.tlb_lookup(sm, hit, cycle)
            naive.lookup(sm, hit, cycle)
        else:
            free = event[1]
            picked = placement.pick(LAUNCH, 0, SMS, lambda sm, free=free: sm in free)  # type: ignore[misc]
            assert picked == naive.pick(free)
            assert (picked is None) == (not free)  # it never throttles
    assert [placement.miss_rate(sm) for sm in range(SMS)] == [
        naive.miss_rate(sm) for sm in range(SMS)
    ]


@given(st.lists(st.sets(st.integers(0, 5)), max_size=40), st.integers(0, 9))
def test_equal_rates_are_round_robin(rooms: list[set[int]], hits: int) -> None:
    aware, plain = ThrashingAwarePlacement(min_samples=1), RoundRobinPlacement()
    for sm in range(6):
        for number in range(10):
            aware.tlb_lookup(sm, number < hits, number)
    for free in rooms:
        picks = [
            placement.pick(LAUNCH, 0, 6, lambda sm, free=free: sm in free)  # type: ignore[misc]
            for placement in (aware, plain)
        ]
        assert picks[0] == picks[1]


def test_a_thrashing_sm_is_avoided_until_the_others_are_full() -> None:
    placement = ThrashingAwarePlacement(min_samples=4)
    for sm, hits in enumerate((9, 1, 8)):
        for number in range(10):
            placement.tlb_lookup(sm, number < hits, number)
    assert [placement.pick(LAUNCH, 0, 3, lambda sm: True) for _ in range(4)] == [0, 2, 0, 2]
    assert placement.pick(LAUNCH, 0, 3, lambda sm: sm == 1) == 1
    assert placement.pick(LAUNCH, 0, 3, lambda sm: False) is None


def test_a_full_counter_halves_both() -> None:
    counts = Halving(8)
    for number in range(8):
        counts.add(number % 2 == 0, number)
    assert (counts.hits, counts.total) == (2, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": "cycle", "length": 9}, ["window", "did you mean 'cycles'", "decay"]),
        ({"window": "cycles"}, ["length", "2 or more"]),
        ({"reference": "average"}, ["reference", "mean, median, min"]),
        ({"slack": -0.1}, ["slack", "0 or more"]),
        ({"min_samples": -1}, ["min_samples", "0 or more"]),
    ],
)
def test_refused(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        ThrashingAwarePlacement(**options)
    assert [word for word in words if word not in str(caught.value)] == []


def test_it_acts_when_round_robin_would_have_gone_elsewhere() -> None:
    policy = ThrashingAwarePlacement(min_samples=1)
    policy.tlb_lookup(0, False, 1)
    policy.tlb_lookup(1, True, 1)
    assert policy.pick(LAUNCH, 0, 2, lambda _: True) == 1
    assert policy.acted() == 1
    assert policy.pick(LAUNCH, 1, 2, lambda sm: sm == 0) == 0
    assert policy.pick(LAUNCH, 2, 2, lambda _: True) == 1
    assert policy.acted() == 1
