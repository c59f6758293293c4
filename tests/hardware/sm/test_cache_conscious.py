"""Cache-conscious warp scheduling: scores against naive ones, and scenes made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.structures import Dimensions
from gpusim.hardware.sm.cache_conscious import CacheConscious
from gpusim.hardware.sm.lost_locality import LostLocality
from tests.examples import examples

BASE, THROTTLE, TAGS = 10, 4, 2


class Naive:
    """All that ever happened, looked through anew for every question."""

    def __init__(self) -> None:
        self.warps: dict[int, dict[str, Any]] = {}
        self.owner: dict[int, int] = {}
        self.losses = 0
        self.ages = 0

    def score(self, slot: int, now: int) -> int:
        raised = [score - (now - then) for then, score in self.warps[slot]["raised"]]
        return max([BASE, *raised[-1:]])

    def began(self, slot: int) -> int:
        self.ages += 1
        self.warps[slot] = {"age": self.ages, "raised": [], "evicted": []}
        return self.ages

    def missed(self, slot: int, line: int, now: int, issued: int) -> None:
        if slot not in self.warps:
            return
        self.owner[line] = slot
        kept = list(dict.fromkeys(reversed(self.warps[slot]["evicted"])))[:TAGS]
        if line in kept:
            self.losses += 1
            score = self.losses * THROTTLE * BASE * len(self.warps) // max(issued, 1)
            if score > self.score(slot, now):
                self.warps[slot]["raised"].append((now, score))

    def evicted(self, line: int) -> None:
        slot = self.owner.pop(line, None)
        if slot in self.warps:
            self.warps[slot]["evicted"].append(line)

    def holds(self, slot: int, now: int) -> bool:
        order = sorted(self.warps, key=lambda one: (-self.score(one, now), self.warps[one]["age"]))
        ranked = order[: order.index(slot) + 1]
        total = sum(self.score(one, now) for one in ranked)
        return len(ranked) > 1 and total > BASE * len(self.warps)


SLOTS, LINES = st.integers(0, 3), st.integers(0, 5)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("began"), SLOTS),
        st.tuples(st.just("ended"), SLOTS),
        st.tuples(st.just("missed"), SLOTS, LINES),
        st.tuples(st.just("missed"), SLOTS, LINES),
        st.tuples(st.just("evicted"), LINES),
        st.tuples(st.just("evicted"), LINES),
        st.tuples(st.just("pass"), st.integers(1, 20)),
    ),
    max_size=120,
)


@settings(max_examples=examples(300), deadline=None)
@given(EVENTS)
def test_scores_are_those_of_a_naive_one(events: list[tuple[Any, ...]]) -> None:
    real, naive, now, issued = LostLocality(BASE, THROTTLE, TAGS), Naive(), 0, 0
    for what, *args in events:
        if what == "pass":
            now += args[0]
            issued += 1
            real.instructions = issued
        elif what == "began" and args[0] not in naive.warps:
            real.began(args[0], naive.began(args[0]))
        elif what == "ended" and args[0] in naive.warps:
            real.ended(args[0])
            del naive.warps[args[0]]
        elif what == "missed":
            real.missed(args[0], args[1], now)
            naive.missed(args[0], args[1], now, issued)
        elif what == "evicted":
            real.evicted(args[0])
            naive.evicted(args[0])
        held = {slot: real.holds(slot, now) for slot in naive.warps}
        assert held == {slot: naive.holds(slot, now) for slot in naive.warps}
        assert not held or not all(held.values())  # one warp may always load
        assert real.losses == naive.losses


def test_a_warp_that_loses_a_line_takes_the_turns_of_others() -> None:
    """Four warps, 100 each: one loss in eight instructions raises a score to 400 of 400."""
    locality = LostLocality(base=100, throttle=8, tags=16)
    for slot in range(4):
        locality.began(slot, age=slot)
    locality.instructions = 8
    locality.missed(2, 7, now=0)
    assert not any(locality.holds(slot, 0) for slot in range(4))
    locality.evicted(7)
    locality.missed(2, 7, now=10)
    assert [locality.holds(slot, 10) for slot in range(4)] == [True, True, False, True]
    # The score falls by one a cycle: there is room for another warp, the oldest, after 100.
    assert [locality.holds(slot, 109) for slot in range(4)] == [True, True, False, True]
    assert [locality.holds(slot, 110) for slot in range(4)] == [False, True, False, True]
    assert not any(locality.holds(slot, 310) for slot in range(4))


def test_a_line_that_another_warp_brought_in_is_no_loss() -> None:
    locality = LostLocality(base=100, throttle=8, tags=16)
    for slot in range(2):
        locality.began(slot, age=slot)
    locality.missed(0, 7, now=0)
    locality.evicted(7)
    locality.missed(1, 7, now=1)
    assert locality.losses == 0


@pytest.mark.parametrize("option", ["base", "throttle", "tags", "again"])
def test_options_that_cannot_be(option: str) -> None:
    with pytest.raises(OptionError, match=f"{option}: must be 1 or more"):
        CacheConscious(**{option: 0})


def test_what_it_keeps() -> None:
    sizes = Dimensions(page_bits=36, frame_bits=20, sms=16, block_slots=16, page_table_levels=4)
    tags, owners, scores, losses = CacheConscious().storage(sizes, warps=48, lines=256)
    assert tags.bits == 48 * 16 * (20 + 12 - 7)
    assert owners.bits == 256 * 6
    assert scores.bits == 48 * 16
    assert losses.bits == 32
