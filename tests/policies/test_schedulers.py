"""Warp schedulers and block placement against naive ones."""

from __future__ import annotations

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.sm.block_scheduler import RoundRobinPlacement
from gpusim.sm.schedulers import GreedyThenOldest, LooseRoundRobin


@frozen
class Ready:
    age: int
    warp_slot: int


calls = st.lists(st.one_of(st.none(), st.integers(0, 15)), max_size=80)
"""A hardware slot whose warp becomes ready, or None: pick."""


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(16)), calls)
def test_oldest_first(ages: list[int], steps: list[int | None]) -> None:
    scheduler = GreedyThenOldest()
    ready: set[Ready] = set()
    assert scheduler.greedy
    for slot in steps:
        if slot is None:
            oldest = min(ready, key=lambda warp: warp.age, default=None)
            assert scheduler.pick() == oldest
            ready.discard(oldest)  # type: ignore[arg-type]
        elif (warp := Ready(ages[slot], slot)) not in ready:
            scheduler.add(warp)
            ready.add(warp)
        assert len(scheduler) == len(ready)


@settings(max_examples=200, deadline=None)
@given(st.permutations(range(16)), calls)
def test_round_robin(ages: list[int], steps: list[int | None]) -> None:
    scheduler = LooseRoundRobin()
    ready: dict[int, Ready] = {}
    last = 15
    assert not scheduler.greedy
    for slot in steps:
        if slot is None:
            # Walk once around all hardware slots, starting behind the last one.
            order = [(last + 1 + step) % 16 for step in range(16)]
            chosen = next((s for s in order if s in ready), None)
            assert scheduler.pick() == (None if chosen is None else ready.pop(chosen))
            last = last if chosen is None else chosen
        elif slot not in ready:
            ready[slot] = Ready(ages[slot], slot)
            scheduler.add(ready[slot])
        assert len(scheduler) == len(ready)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 8), st.lists(st.sets(st.integers(0, 7)), max_size=40))
def test_round_robin_placement(count: int, rooms: list[set[int]]) -> None:
    placement = RoundRobinPlacement()
    pointer = 0
    for free in rooms:
        picked = placement.pick(count, lambda sm, free=free: sm in free)  # type: ignore[misc]
        candidates = sorted(free & set(range(count)))
        if not candidates:
            assert picked is None
            continue
        assert picked == min(candidates, key=lambda sm: (sm - pointer) % count)
        pointer = (picked + 1) % count
