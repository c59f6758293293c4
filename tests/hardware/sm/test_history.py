"""What a stalled load/store unit tells those in its queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.request import resolve_trail
from gpusim.hardware.sm import history as module
from gpusim.hardware.sm.history import History
from tests.machine.bench import SMALL, Run, change

BASE = 1 << 32


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40),
    st.integers(0, 120),
    st.integers(0, 120),
)
def test_pieces_tile_any_window(steps: list[tuple[int, int]], start: int, length: int) -> None:
    history, now = History(0), 0
    for state, pause in steps:
        now += pause
        history.enter(state, now)
    pieces = resolve_trail(history, start, start + length)
    at = start
    for _, begin, end in pieces:
        assert begin == at < end
        at = end
    assert at == start + length


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(2, 5)), max_size=40))
def test_states_that_last_are_told_exactly(steps: list[tuple[int, int]]) -> None:
    history, now, expected = History(0), 0, []
    for state, length in steps:
        history.enter(state, now)
        expected += [state] * length
        now += length
    told = [s for s, begin, end in resolve_trail(history, 0, now) for _ in range(begin, end)]
    assert told == expected


def test_a_single_cycle_between_two_stalls_is_not_told_apart() -> None:
    history = History(0)
    for state, now in ((7, 10), (0, 20), (7, 21), (0, 30)):
        history.enter(state, now)
    assert resolve_trail(history, 5, 40) == [(0, 5, 10), (7, 10, 30), (0, 30, 40)]


def test_what_is_forgotten_counts_as_the_oldest_state_left(monkeypatch) -> None:
    monkeypatch.setattr(module, "_LONG", 4)
    history = History(0)
    for index in range(8):
        history.enter(1 + index % 2, 10 * (index + 1))
    pieces = resolve_trail(history, 0, 100)
    assert pieces[0][1] == 0
    assert pieces[-1] == (2, 80, 100)
    assert sum(end - begin for _, begin, end in pieces) == 100


def test_a_store_that_waits_for_a_credit() -> None:
    config = change(SMALL, sm={"store_credits": 1})
    run = Run(config, [("store", BASE), ("store", BASE + 128)])
    assert run.states()["credit"] > 0


def test_a_load_that_waits_for_an_mshr() -> None:
    run = Run(change(SMALL, l1={"mshrs": 1}), [("load", BASE, BASE + 128, BASE + 256), ("wait",)])
    # Lines come one after the other: 133 cycles each; the third waits while the second fetches.
    assert run.states()["mshr"] > 100


def test_a_warp_outside_a_full_queue_is_told_why_the_unit_is_stalled() -> None:
    config = change(SMALL, sm={"lsu_queue": 1}, l1={"mshrs": 1})
    script = [("load", BASE + 128 * i) for i in range(6)]
    states = Run(config, [*script, ("wait",)]).states()
    assert states["mshr"] > states.get("lsu", 0)
