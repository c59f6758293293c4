"""`resolve_trail` against an oracle that asks for every single cycle."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.request import Traveller, resolve_trail
from gpusim.core.unboxed import IntList
from tests.examples import examples


def state_at(traveller: Traveller, cycle: int) -> int:
    """The last entry that began by `cycle`, or the first one; links are followed."""
    state, _ = list(traveller.trail)[:2]
    for entry in range(0, len(traveller.trail), 2):
        if entry and traveller.trail[entry + 1] <= cycle:
            state = traveller.trail[entry]
    if state >= 0:
        return state
    linked = traveller.linked(state)
    assert isinstance(linked, Traveller)
    return state_at(linked, cycle)


@st.composite
def travellers(draw: Any) -> Traveller:
    """The last of a few travellers, each of which may wait for earlier ones."""
    made: list[Traveller] = []
    for _ in range(draw(st.integers(1, 4))):
        cycles = sorted(draw(st.lists(st.integers(0, 60), min_size=1, max_size=6)))
        traveller = Traveller(0, 0, 0, 0, IntList())
        for index, cycle in enumerate(cycles):
            follow = made and draw(st.booleans()) and (index or draw(st.booleans()))
            if follow:
                traveller.follow(draw(st.sampled_from(made)), cycle)
            else:
                traveller.trail += (draw(st.integers(0, 4)), cycle)
        made.append(traveller)
    return made[-1]


@settings(max_examples=examples(400), deadline=None)
@given(travellers(), st.integers(0, 70), st.integers(0, 70))
def test_every_cycle_is_in_the_right_state(traveller: Traveller, start: int, end: int) -> None:
    pieces = resolve_trail(traveller, start, end)
    cycles = [(cycle, state) for state, begin, stop in pieces for cycle in range(begin, stop)]
    assert cycles == [(cycle, state_at(traveller, cycle)) for cycle in range(start, end)]
    assert all(begin < stop for _, begin, stop in pieces)


def test_a_merged_miss_shares_the_states_of_the_miss_before_it() -> None:
    first = Traveller(0, 0, 0, 0, IntList([3, 0, 10, 20, 12, 30]))
    merged = Traveller(0, 0, 0, 0, IntList([3, 15]))
    merged.follow(first, 25)
    merged.trail += (9, 100)
    assert resolve_trail(merged, 16, 110) == [
        (3, 16, 25),
        (10, 25, 30),
        (12, 30, 100),
        (9, 100, 110),
    ]
