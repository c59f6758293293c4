"""The translation-aware bypass against a log of all lookups that is counted anew each time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.hardware.cache import NeverBypass, TranslationAwareBypass
from gpusim.hardware.cache.translation_aware import is_sampled
from tests.examples import examples

depths = st.sampled_from([0, 0, 1, 4, 6, 7, 9])
events = st.lists(
    st.tuples(
        st.sampled_from(["lookup", "lookup", "lookup", "ask"]),
        depths,
        st.booleans(),
        st.integers(0, 30),
        st.integers(0, 9),
    ),
    max_size=150,
)
options = st.fixed_dictionaries(
    {
        "epoch": st.integers(1, 40),
        "sample": st.sampled_from([0, 1, 2, 1 << 40]),
        "min_accesses": st.integers(0, 5),
    }
)


class NaiveBypass:
    """Keeps every lookup for ever; goes through all of time, epoch by epoch, when it is asked."""

    def __init__(self, epoch: int, sample: int, min_accesses: int) -> None:
        self.epoch, self.sample, self.min_accesses = epoch, sample, min_accesses
        self.log: list[tuple[int, int, bool]] = []

    def counts(self, kind: int, now: int) -> tuple[int, int]:
        hits = accesses = 0
        for epoch in range(now // self.epoch + 1):
            if epoch:
                hits, accesses = hits // 2, accesses // 2
            mine = [hit for cycle, k, hit in self.log if (k, cycle // self.epoch) == (kind, epoch)]
            hits, accesses = hits + sum(mine), accesses + len(mine)
        return hits, accesses

    def rate(self, kind: int, now: int) -> Fraction | None:
        hits, accesses = self.counts(kind, now)
        return Fraction(hits, accesses) if accesses else None

    def bypasses(self, depth: int, line: int, now: int) -> bool:
        kind = min(depth, 7)
        seen = len([k for _, k, _ in self.log if k == kind])
        if seen < self.min_accesses or (self.sample and is_sampled(line, self.sample)):
            return False
        own, data = self.rate(kind, now), self.rate(0, now)
        return own is not None and data is not None and own < data


@settings(max_examples=examples(300), deadline=None)
@given(options, events)
def test_against_a_log_of_all_lookups(options: dict[str, Any], events: list[Any]) -> None:
    policy, naive = TranslationAwareBypass(**options), NaiveBypass(**options)
    cycle = 0
    for what, depth, hit, later, line in events:
        cycle += later
        if what == "lookup":
            policy.l2_lookup(depth, line % 2, hit, cycle)
            naive.log.append((cycle, min(depth, 7), hit))
        else:
            level = max(depth, 1)
            assert policy.bypasses(level, line % 2, line, cycle) == naive.bypasses(
                level, line, cycle
            )
    for level in range(1, 10):
        assert policy.bypasses(level, 0, 12345, cycle) == naive.bypasses(level, 12345, cycle)


def filled(**options: int) -> TranslationAwareBypass:
    """Of 100 lookups data hit 50, level 3 hits 49, level 4 hits 50."""
    policy = TranslationAwareBypass(**{"min_accesses": 0} | options)
    for depth, hits in ((0, 50), (3, 49), (4, 50)):
        for number in range(100):
            policy.l2_lookup(depth, 0, number < hits, 0)
    return policy


def test_a_level_that_hits_less_often_than_data_goes_past() -> None:
    policy = filled()
    assert [policy.bypasses(depth, 0, 1, 0) for depth in range(1, 8)] == [
        False,
        False,
        True,
        False,
        False,
        False,
        False,
    ]


def test_all_requests_of_a_level_go_past() -> None:
    """MASK §5.3 imposes bypassing for requests of a level; no line of it is looked up."""
    policy = filled()
    assert all(policy.bypasses(3, 0, line, 0) for line in range(1000))


def test_a_level_is_judged_anew_when_its_counters_are_empty() -> None:
    policy = filled(epoch=10)
    for cycle in range(0, 80, 10):  # data go on hitting half of the time
        for number in range(100):
            policy.l2_lookup(0, 0, number < 50, cycle)
    assert not policy.bypasses(3, 0, 1, 80)
    policy.l2_lookup(3, 0, False, 80)
    assert policy.bypasses(3, 0, 1, 80)


def test_levels_beyond_six_count_as_one() -> None:
    policy = filled()
    policy.l2_lookup(7, 0, False, 0)
    assert [policy.bypasses(depth, 0, 1, 0) for depth in (6, 7, 8)] == [False, True, True]


def test_the_first_accesses_of_a_level_never_let_it_past() -> None:
    policy = filled(min_accesses=101)
    assert not policy.bypasses(3, 0, 1, 0)
    policy.l2_lookup(3, 0, False, 0)
    assert policy.bypasses(3, 0, 1, 0)
    # halving does not make them first again
    assert policy.bypasses(3, 0, 1, 100_000)


def test_all_is_forgotten_in_the_end() -> None:
    # 50/100 against 49/100 are 25/50 against 24/50, then 12/25 each
    policy = filled(epoch=10)
    asked = [policy.bypasses(3, 0, 1, cycle) for cycle in (9, 10, 19, 20, 1000)]
    assert asked == [True, True, True, False, False]
    assert not policy.bypasses(3, 0, 1, 10**12)


def test_a_level_comes_back_by_its_sampled_lines() -> None:
    policy = filled(sample=4)
    lines = {is_sampled(line, 4): line for line in range(100)}
    assert not policy.bypasses(3, 0, lines[True], 0)
    assert policy.bypasses(3, 0, lines[False], 0)
    policy.l2_lookup(3, 0, True, 0)
    policy.l2_lookup(3, 0, True, 0)
    assert not policy.bypasses(3, 0, lines[False], 0)  # 51 of 102 are no less than half


@pytest.mark.parametrize("stride", [1, 2, 16, 32, 512, 4096])
def test_one_of_32_lines_is_sampled(stride: int) -> None:
    first = (8 << 30) // 128 - 1_000_000
    for begin in (0, first):
        lines = range(begin, begin + 3200 * stride, stride)
        assert 90 <= sum(is_sampled(line, 32) for line in lines) <= 110


def test_all_lines_are_one_of_one() -> None:
    policy = filled(sample=1)
    assert not any(policy.bypasses(3, 0, line, 0) for line in range(10_000))


def test_never() -> None:
    assert NeverBypass.idle
    assert not NeverBypass().bypasses(4, 0, 1, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epoch": 0}, ["epoch", "1 or more"]),
        ({"sample": -1}, ["sample", "0 or more"]),
        ({"min_accesses": -1}, ["min_accesses", "0 or more"]),
    ],
)
def test_refused(options: dict[str, int], words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        TranslationAwareBypass(**options)
    assert [word for word in words if word not in str(caught.value)] == []
