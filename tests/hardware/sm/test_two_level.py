"""Two-level warp scheduling against a naive one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.structures import Dimensions
from gpusim.hardware.sm.schedulers import Schedulable
from gpusim.hardware.sm.two_level import TwoLevelRoundRobin
from tests.examples import examples
from tests.hardware.sm.test_schedulers import calls, ready_warp

SLOTS = 16


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from([1, 3, 4, 16]), calls)
def test_groups_in_turn(group: int, steps: list[int | None]) -> None:
    scheduler = TwoLevelRoundRobin(group=group)
    ready: dict[int, Schedulable] = {}
    groups = -(-SLOTS // group)
    last = -1
    assert not scheduler.greedy
    for slot in steps:
        if slot is None:
            now = last // group if last >= 0 else 0
            order = [*range(last + 1, (now + 1) * group), *range(now * group, last + 1)]
            for step in range(1, groups):
                first = (now + step) % groups * group
                order += range(first, first + group)
            chosen = next((one for one in order if one in ready), None)
            assert scheduler.pick() is (None if chosen is None else ready.pop(chosen))
            last = last if chosen is None else chosen
        elif slot not in ready:
            ready[slot] = ready_warp(slot, slot)
            scheduler.add(ready[slot])
        assert len(scheduler) == len(ready)


def test_a_group_has_a_warp() -> None:
    with pytest.raises(OptionError, match="group: must be 1 or more"):
        TwoLevelRoundRobin(group=0)


def test_what_it_keeps() -> None:
    sizes = Dimensions(page_bits=36, frame_bits=20, sms=16, block_slots=16, page_table_levels=4)
    (turn,) = TwoLevelRoundRobin().storage(sizes, warps=64, lines=128)
    assert turn.bits == 3
