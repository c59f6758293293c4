"""Warp schedulers and block placement against naive ones."""

from __future__ import annotations

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.sm.recorded_placement import RecordedSm
from gpusim.hardware.sm.schedulers import GreedyThenOldest, LooseRoundRobin, Schedulable
from gpusim.programs.kernel import Kernel
from gpusim.programs.tracer import BlockTracer, Shape
from tests.examples import examples


def ready_warp(age: int, slot: int) -> Schedulable:
    return Schedulable(uid=0, warp_slot=slot, app=0, state=0, now=0, age=age)


@define(kw_only=True, eq=False)
class Placed(Kernel):
    """A launch that tells where some of its blocks ran."""

    shape: Shape = field(factory=lambda: Shape.linear(8 * 32, 32))
    name: str = "placed"
    registers_per_thread: int = 0
    recorded: tuple[int | None, ...] = ()

    def body(self, k: BlockTracer) -> None:
        k.compute(1)

    def recorded_sm(self, block: int) -> int | None:
        return self.recorded[block]


class Unplaced(Placed):
    """A launch that cannot tell."""

    recorded_sm = None  # type: ignore[assignment]


calls = st.lists(st.one_of(st.none(), st.integers(0, 15)), max_size=80)
"""A hardware slot whose warp becomes ready, or None: pick."""


@settings(max_examples=examples(200), deadline=None)
@given(st.permutations(range(16)), calls)
def test_oldest_first(ages: list[int], steps: list[int | None]) -> None:
    scheduler = GreedyThenOldest()
    ready: dict[int, Schedulable] = {}
    assert scheduler.greedy
    for slot in steps:
        if slot is None:
            oldest = min(ready.values(), key=lambda warp: warp.age, default=None)
            assert scheduler.pick() is oldest
            if oldest is not None:
                del ready[oldest.warp_slot]
        elif slot not in ready:
            ready[slot] = ready_warp(ages[slot], slot)
            scheduler.add(ready[slot])
        assert len(scheduler) == len(ready)


@settings(max_examples=examples(200), deadline=None)
@given(st.permutations(range(16)), calls)
def test_round_robin(ages: list[int], steps: list[int | None]) -> None:
    scheduler = LooseRoundRobin()
    ready: dict[int, Schedulable] = {}
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
            ready[slot] = ready_warp(ages[slot], slot)
            scheduler.add(ready[slot])
        assert len(scheduler) == len(ready)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 8), st.lists(st.sets(st.integers(0, 7)), max_size=40))
def test_round_robin_placement(count: int, rooms: list[set[int]]) -> None:
    placement = RoundRobinPlacement()
    pointer = 0
    for free in rooms:
        picked = placement.pick(Placed(), 0, count, lambda sm, free=free: sm in free)  # type: ignore[misc]
        candidates = sorted(free & set(range(count)))
        if not candidates:
            assert picked is None
            continue
        assert picked == min(candidates, key=lambda sm: (sm - pointer) % count)
        pointer = (picked + 1) % count


def test_recorded_placement_waits_for_the_recorded_sm() -> None:
    placement = RecordedSm()
    launch = Placed(recorded=(2, 0, None, None))
    asked: list[int] = []

    def fits(sm: int) -> bool:
        asked.append(sm)
        return sm != 2

    assert placement.pick(launch, 0, 3, fits) is None
    assert placement.pick(launch, 1, 3, fits) == 0
    assert asked == [2, 0]
    assert [placement.pick(launch, block, 3, fits) for block in (2, 3)] == [0, 1]


def test_recorded_placement_is_round_robin_for_other_launches() -> None:
    placement = RecordedSm()
    picked = [placement.pick(Unplaced(), block, 3, lambda sm: True) for block in range(4)]
    assert picked == [0, 1, 2, 0]


def test_recorded_placement_refuses_sms_that_are_not_there() -> None:
    with pytest.raises(UserError, match=r"block 1 .*'placed'.* SM 3, .* has 3 \(sm\.count\)"):
        RecordedSm().pick(Placed(recorded=(0, 3)), 1, 3, lambda sm: True)
