"""Queues that rank applications: choices against a naive scan, and one application alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.structures import Dimensions
from gpusim.hardware.dram import Atlas, Tcm
from gpusim.hardware.dram.ranked import RankedQueue, Ranking
from gpusim.hardware.dram.waiting import Waiting
from tests.examples import examples
from tests.hardware.dram.driving import Driven
from tests.hardware.dram.test_against_clocked import streams
from tests.hardware.dram.test_golden_choice import BANKS, waiting
from tests.hardware.dram.test_golden_silver_normal import config

APPS, QUANTUM, PATIENCE = 3, 1_000_000, 40
SIZES = Dimensions(page_bits=36, frame_bits=20, sms=16, block_slots=16, page_table_levels=4)

STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"),
            st.integers(0, 1),
            st.integers(0, 2),
            st.integers(0, APPS - 1),
            st.integers(0, 15),
        ),
        st.tuples(st.just("serve"), st.integers(0, 1), st.integers(-1, 2)),
        st.tuples(st.just("rank"), st.permutations(range(APPS))),
    ),
    max_size=80,
)
"""A read comes: bank, row, application, cycles since the last one; a bank serves; new ranks."""


@settings(max_examples=examples(200), deadline=None)
@given(STEPS)
def test_it_chooses_as_a_naive_one(steps: list[tuple[Any, ...]]) -> None:
    ranking = Ranking(APPS)
    queue = RankedQueue(99, BANKS, ranking, QUANTUM, PATIENCE)
    here: list[Waiting] = []
    places = coming = list(range(APPS))
    cycle = heard = number = 0
    for what, *args in steps:
        if what == "rank":
            ranking.set_order(args[0])
            coming = [args[0].index(app) for app in range(APPS)]
        elif what == "add":
            bank, row, app, gap = args
            cycle, number, places = cycle + gap, number + 1, coming  # it learns when a read comes
            heard = cycle
            here.append(waiting(bank, row, app, 0, cycle, number))
            queue.add(here[-1], 0)
        else:
            bank, row = args
            late = [one for one in here if heard - one.accepted >= PATIENCE]
            there = [one for one in here if one.bank == bank]
            classes = [[one for one in there if one in late]]
            for app in sorted(range(APPS), key=places.__getitem__):
                own = [one for one in there if one not in late and one.request.app == app]
                classes.append(own)
            first = next((one for one in classes if one), [])
            hits = [one for one in first if one.row == row]
            chosen = (hits or first or [None])[0]
            assert queue.best(bank, row) is chosen
            if chosen is not None:
                queue.remove(chosen)
                here.remove(chosen)
        assert queue.size == len(here)


def test_banks_whose_order_changes_are_told() -> None:
    ranking = Ranking(2)
    queue = RankedQueue(8, BANKS, ranking, QUANTUM, PATIENCE)
    queue.add(waiting(3, 0, 0, 0, 0, 0), 0)
    assert queue.changed == []
    ranking.set_order([1, 0])
    queue.add(waiting(5, 0, 1, 0, 1, 1), 0)
    assert queue.changed == [3]
    queue.changed.clear()
    queue.add(waiting(5, 0, 1, 0, PATIENCE, 2), 0)  # the first has waited for too long
    assert queue.changed == [3]


@settings(max_examples=examples(40), deadline=None)
@pytest.mark.parametrize("name", ["atlas", "tcm"])
@given(streams())
def test_one_application_has_fr_fcfs(name: str, stream: list[tuple[int, int, bool]]) -> None:
    assert Driven(config(name), stream).heard == Driven(config("fr-fcfs"), stream).heard


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (Atlas, {"quantum": 0}, "quantum: must be 1 or more"),
        (Atlas, {"history": 1.0}, "history: must be 0 or more, and less than 1"),
        (Atlas, {"patience": 0}, "patience: must be 1 or more"),
        (Tcm, {"shuffle": 0}, "shuffle: must be 1 or more"),
        (Tcm, {"share": 1.5}, "share: must be 0 to 1"),
    ],
)
def test_options_that_cannot_be(make: Any, options: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make(32, BANKS, **options)


def test_what_they_keep() -> None:
    atlas = {one.name: one.bits for one in Atlas(32, 8, quantum=1000).storage(SIZES)}
    assert atlas == {
        "read queue": 32 * 32,
        "owners of requests": 32 * 5,
        "ranks of applications": 16 * 4,
        "attained service": 16 * 13,  # up to 8,000
    }
    tcm = {one.name: one.bits for one in Tcm(32, 8, quantum=1000).storage(SIZES)}
    assert tcm["behaviour of applications"] == 16 * (10 + 10 + 10 + 3 + 13)
    assert tcm["shadow rows"] == 16 * 8 * 20
