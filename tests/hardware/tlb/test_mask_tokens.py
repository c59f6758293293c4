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

from gpusim.core.engine import Environment, Probe
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


Slot = tuple[int, int]
"""SM and warp slot."""


@attrs.frozen
class Event:
    """A warp begins or ends, or looks up a page, and whether it hit."""

    cycle: int
    app: int
    begins: Slot | None = None
    ends: Slot | None = None
    hit: bool | None = None


class Naive:
    """Knows only what happened; tokens are worked out anew for each fill."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.o = options
        self.log: list[Event] = []
        self.bypass: list[tuple[int, Mapping]] = []

    def present(self, events: list[Event]) -> set[Slot]:
        """The warps that have begun and not ended."""
        found: set[Slot] = set()
        for one in events:
            found |= {one.begins} if one.begins else set()
            found -= {one.ends} if one.ends else set()
        return found

    def epochs(self, app: int, cycle: int) -> list[tuple[list[bool], set[Slot]]]:
        """Of each epoch that is over: the hits and misses, and the warps that were there."""
        own = [one for one in self.log if one.app == app]
        if self.o["token_policy"] == "hillclimb":
            size, cuts, seen = self.o["accesses"], [0], 0
            for number, one in enumerate(own):
                seen += one.hit is not None
                if seen == size:
                    cuts.append(number + 1)
                    seen = 0
        else:
            length = self.o["epoch"]
            ends = range(length, cycle // length * length + 1, length)
            cuts = [0, *(sum(one.cycle < end for one in own) for end in ends)]
        parts = []
        for begin, end in pairwise(cuts):
            warps = self.present(own[:begin]) | {one.begins for one in own[begin:end] if one.begins}
            hits = [one.hit for one in own[begin:end] if one.hit is not None]
            parts += [(hits, warps)] if hits and warps else []
        return parts

    def holds(self, warp: Translation, cycle: int) -> bool:
        epochs = self.epochs(warp.app, cycle)
        if not epochs:
            return True
        rates = [sum(not hit for hit in hits) / len(hits) for hits, _ in epochs]
        if self.o["token_policy"] == "hillclimb" and rates[-1] <= self.o["bypass_above"]:
            return True
        seen: dict[int, set[int]] = {}
        for sm, slot in epochs[-1][1]:
            seen.setdefault(sm, set()).add(slot)
        if warp.sm not in seen:
            return True
        own = 1 + self.extra_owners(seen, self.number(rates, epochs)).count(warp.sm)
        lowest = sorted(seen[warp.sm])[:own]
        return own == len(seen[warp.sm]) or warp.warp_slot in lowest

    def number(self, rates: list[float], epochs: list[tuple[list[bool], set[Slot]]]) -> int:
        """Tokens after the last epoch, as many as there are warps at most."""
        warps = [len(one) for _, one in epochs]
        sms = [len({sm for sm, _ in one}) for _, one in epochs]
        tokens = max(round(self.o["initial"] * warps[0]), sms[0])
        for (before, rate), most, least in zip(pairwise(rates), warps[1:], sms[1:], strict=True):
            if self.o["token_policy"] == "hillclimb":
                move = -1 if rate < before else 1
            else:
                move = (rate < before - self.o["band"]) - (rate > before + self.o["band"])
            moved = tokens + round(move * self.o["step"] * most)
            if moved > most:  # no more than there are warps, but what it has it keeps
                moved = max(most, tokens) if move > 0 else moved
            tokens = max(moved, least)
        return min(tokens, warps[-1])

    def extra_owners(self, seen: dict[int, set[int]], tokens: int) -> list[int]:
        """Whose each token is beyond one a SM: the warps beyond one a SM stand in a line, cut into
        as many pieces; the warp in the middle of a piece tells the SM."""
        line = [sm for sm in sorted(seen) for _ in range(len(seen[sm]) - 1)]
        extra = tokens - len(seen)
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
    """Signals of a machine that consists of a fill policy; tests announce the warps of its SMs."""
    board = SignalBoard(Environment(), APPS, lambda tag: None)
    for name in ("warp.begin", "warp.end"):
        board.offer(name, Probe())
    return board.at(range(SMS), announce)


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
lives = st.tuples(
    st.just("warp"),
    st.integers(0, 1),
    st.integers(0, 9),
    st.tuples(st.integers(0, 1), st.integers(0, WARPS - 1)),
)
"""A warp begins, or ends if it is there."""


def toggle(policy: MaskTokens, naive: Naive, app: int, warp: Slot, cycle: int) -> None:
    """A warp that is not there begins; one that is there ends."""
    if warp in naive.present(naive.log):
        policy.warp_ended(*warp, app, cycle)
        naive.log.append(Event(cycle, app, ends=warp))
    else:
        policy.warp_began(*warp, app, cycle)
        naive.log.append(Event(cycle, app, begins=warp))


@settings(max_examples=examples(300))
@given(options, st.lists(st.one_of(accesses, accesses, accesses, lives, changes), max_size=80))
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
        elif event[0] == "warp":
            _, app, later, (sm, slot) = event
            cycle += later
            toggle(policy, naive, app, (SMS_OF[app][sm], slot), cycle)
        else:
            app, page, later, who = event
            cycle += later
            tag = app << ASID_SHIFT | page
            for sm, slot in who:
                if (SMS_OF[app][sm], slot) not in naive.present(naive.log):
                    toggle(policy, naive, app, (SMS_OF[app][sm], slot), cycle)
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
                naive.log.append(Event(cycle, app, hit=hit))
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
        assert 1 <= tokens <= warps <= APPS * WARPS
        assert hits + misses


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
