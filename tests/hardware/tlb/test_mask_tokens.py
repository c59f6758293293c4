"""Tokens and bypass cache against a log of all lookups that is read anew for each fill."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.engine import Environment
from gpusim.core.errors import OptionError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.request import Translation
from gpusim.core.signals import SignalBoard, Signals
from gpusim.hardware.tlb import AlwaysFill, MaskTokens
from gpusim.hardware.tlb.mask_tokens import TokenCounters
from tests.examples import examples
from tests.hardware.sm.requesters import requester

APPS, SMS, WARPS = 2, 4, 6
SMS_OF = {0: (0, 2), 1: (1, 3)}


@attrs.frozen
class Seen:
    cycle: int
    warp: Translation
    hit: bool


class Naive:
    """Knows only what happened; tokens are worked out whenever somebody asks."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.o = options
        self.log: list[Seen] = []
        self.bypass: list[tuple[int, Mapping]] = []

    def epochs(self, app: int, cycle: int) -> list[list[Seen]]:
        own = [one for one in self.log if one.warp.app == app]
        if self.o["token_policy"] == "hillclimb":
            size = self.o["accesses"]
            return [own[i : i + size] for i in range(0, len(own) - size + 1, size)]
        now = cycle // self.o["epoch"]
        numbers = sorted({one.cycle // self.o["epoch"] for one in own} - {now})
        return [[one for one in own if one.cycle // self.o["epoch"] == n] for n in numbers]

    def holds(self, warp: Translation, cycle: int) -> bool:
        epochs = self.epochs(warp.app, cycle)
        if not epochs:
            return True
        rates = [sum(not one.hit for one in epoch) / len(epoch) for epoch in epochs]
        if self.o["token_policy"] == "hillclimb" and rates[-1] <= self.o["bypass_above"]:
            return True
        seen: dict[int, set[int]] = {}
        for one in epochs[-1]:
            seen.setdefault(one.warp.sm, set()).add(one.warp.warp_slot)
        if warp.sm not in seen:
            return True
        own = 1 + self.extra_owners(seen, self.share(rates)).count(warp.sm)
        lowest = sorted(seen[warp.sm])[:own]
        return own == len(seen[warp.sm]) or warp.warp_slot in lowest

    def share(self, rates: list[float]) -> float:
        share, up = self.o["initial"], False
        for before, rate in pairwise(rates):
            if self.o["token_policy"] == "hillclimb":
                up = up if rate < before else not up
                move = 1 if up else -1
            elif rate > before + self.o["band"]:
                move = -1
            else:
                move = int(rate < before - self.o["band"])
            share = min(max(share + move * self.o["step"], 0.0), 1.0)
        return float(share)

    def extra_owners(self, seen: dict[int, set[int]], share: float) -> list[int]:
        """Whose each token is beyond one a SM: the warps beyond one a SM stand in a line, cut into
        as many pieces; the warp in the middle of a piece tells the SM."""
        line = [sm for sm in sorted(seen) for _ in range(len(seen[sm]) - 1)]
        extra = max(round(share * sum(map(len, seen.values()))) - len(seen), 0)
        return [
            line[ceil(Fraction(2 * number - 1, 2 * extra) * len(line)) - 1]
            for number in range(1, extra + 1)
        ]

    def find(self, tag: int) -> Mapping | None:
        for entry in self.bypass:
            if entry[0] == tag:
                self.bypass.remove(entry)
                self.bypass.append(entry)
                return entry[1]
        return None

    def admits(self, tag: int, mapping: Mapping, warps: list[Translation], cycle: int) -> bool:
        asked = warps if self.o["any_waiter"] else warps[:1]
        if any(self.holds(warp, cycle) for warp in asked):
            return True
        self.bypass = [*self.bypass, (tag, mapping)][-self.o["bypass_entries"] :]
        self.bypass = self.bypass if self.o["bypass_entries"] else []
        return False


def signals(announce: Callable[..., None]) -> Signals:
    """Of a machine that consists of a fill policy."""
    return SignalBoard(Environment(), APPS, lambda tag: None).at(range(SMS), announce)


options = st.fixed_dictionaries(
    {
        "token_policy": st.sampled_from(["paper", "hillclimb"]),
        "initial": st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
        "step": st.sampled_from([0.0, 0.1, 0.5]),
        "epoch": st.integers(1, 40),
        "band": st.sampled_from([0.0, 0.02, 0.3]),
        "accesses": st.integers(1, 12),
        "bypass_above": st.sampled_from([0.0, 0.1, 0.5]),
        "bypass_entries": st.integers(0, 3),
        "any_waiter": st.booleans(),
    }
)
accesses = st.tuples(
    st.integers(0, 1),
    st.integers(0, 7),
    st.integers(0, 9),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, WARPS - 1)), min_size=1, max_size=3),
)
changes = st.tuples(st.sampled_from(["invalidate", "flush"]), st.integers(0, 7))


@settings(max_examples=examples(300))
@given(options, st.lists(st.one_of(accesses, accesses, accesses, accesses, changes), max_size=80))
def test_against_a_log_of_all_lookups(options: dict[str, Any], events: list[Any]) -> None:
    """A TLB of two entries between warps and policy; every miss is answered at once."""
    policy, naive = MaskTokens(APPS, SMS, WARPS, **options), Naive(options)
    told: list[tuple[int, ...]] = []
    policy.attach(signals(lambda *epoch: told.append(epoch)))
    array: list[int] = []
    expected = [TokenCounters() for _ in range(APPS)]
    cycle = 0
    for event in events:
        if event[0] == "invalidate":
            before = list(naive.bypass)
            naive.bypass = [entry for entry in before if entry[0] != event[1]]
            assert policy.invalidate(event[1]) == (naive.bypass != before)
        elif event[0] == "flush":
            policy.flush()
            naive.bypass, array = [], []
        else:
            app, page, later, who = event
            cycle += later
            tag = app << ASID_SHIFT | page
            warps = [requester(app, SMS_OF[app][sm], slot) for sm, slot in who]
            counters = expected[app]
            hit = tag in array
            if not hit:
                found = policy.find(tag, warps[0])
                assert found is naive.find(tag)
                hit = found is not None
                counters.bypass_hits += hit
                counters.bypass_probes += hit
            missed = [] if hit else warps
            for warp in missed or warps[:1]:
                policy.looked_up(warp, hit, cycle)
                naive.log.append(Seen(cycle, warp, hit))
                counters.bypass_probes += not hit and options["bypass_entries"] > 0
            if missed:
                mapping = Mapping(tag, page + 100)
                admitted = policy.admits(tag, mapping, missed, cycle)
                assert admitted == naive.admits(tag, mapping, missed, cycle)
                assert admitted or naive.epochs(app, cycle), "no bypass in the first epoch"
                counters.array_fills += admitted
                counters.bypass_fills += not admitted
                array = [*array, tag][-2:] if admitted else array
        assert not {tag for tag, _ in naive.bypass} & set(array)
    for app, own in enumerate(expected):
        counted = [epoch for epoch in told if epoch[0] == app]
        own.epochs = len(counted)
        own.epoch_warps = sum(epoch[4] for epoch in counted)
        own.epoch_tokens = sum(epoch[5] for epoch in counted)
        assert policy.counters(app) == (own,)
    for _, _, hits, misses, warps, tokens in told:
        assert 1 <= tokens <= warps <= hits + misses


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"token_policy": "hillclimbing"}, ["token_policy", "did you mean 'hillclimb'", "paper"]),
        ({"initial": 1.1}, ["initial", "1 or less"]),
        ({"step": -0.1}, ["step", "0 or more"]),
        ({"band": 2}, ["band", "1 or less"]),
        ({"bypass_above": 10}, ["bypass_above", "1 or less"]),
        ({"epoch": 0}, ["epoch", "1 or more"]),
        ({"accesses": 0}, ["accesses", "1 or more"]),
        ({"bypass_entries": -1}, ["bypass_entries", "0 or more"]),
    ],
)
def test_refused(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        MaskTokens(APPS, SMS, WARPS, **options)
    assert [word for word in words if word not in str(caught.value)] == []


def test_always_fills_and_keeps_nothing() -> None:
    always = AlwaysFill(APPS, SMS, WARPS)
    warp = requester(0, 0, 0)
    assert always.admits(7, Mapping(7, 8), [warp], 0)
    assert always.find(7, warp) is None
    assert always.counters(0) == ()
