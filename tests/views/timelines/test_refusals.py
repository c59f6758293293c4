"""What cannot be shown is refused, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpusim.core.errors import UserError
from gpusim.results import Result
from gpusim.views.timelines import (
    MOST_BINS,
    Selection,
    Window,
    activity,
    stalled_on,
    stalls,
    timeline,
    walks_at,
    window_of,
)
from tests.views.timelines.made import CYCLES, made


def test_the_whole_run_in_about_so_many_bins() -> None:
    with made() as result:
        assert window_of(result) == Window(0, CYCLES, 1)
        assert window_of(result, bins=50) == Window(0, CYCLES, 3)
        assert window_of(result, bins=50).bins == 40
        assert window_of(result, 10, 30, bins=1) == Window(10, 30, 20)
        assert window_of(result, end=30, bin_cycles=7) == Window(0, 30, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"begin": CYCLES}, f"from cycle {CYCLES} to cycle {CYCLES}: .* run of {CYCLES} cycles"),
        ({"end": CYCLES + 1}, f"from cycle 0 to cycle {CYCLES + 1}: .* run of {CYCLES} cycles"),
        ({"begin": -1}, "from cycle -1 to .*begin at 0 or later"),
        ({"begin": 9, "end": 9}, "from cycle 9 to cycle 9: it must"),
        ({"begin": 9, "end": 3}, "from cycle 9 to cycle 3: it must"),
        ({"bin_cycles": 0}, "bins of 0 cycles; allowed: 1 or more"),
        ({"bins": 0}, "in 0 bins; allowed: 1 or more"),
        ({"bins": -3}, "in -3 bins; allowed: 1 or more"),
    ],
)
def test_windows(arguments: dict[str, int], message: str) -> None:
    with made() as result, pytest.raises(UserError, match=message):
        window_of(result, **arguments)


def test_too_many_bins() -> None:
    assert Window(5, 5 + MOST_BINS, 1).bins == MOST_BINS
    with pytest.raises(UserError, match=f"{MOST_BINS + 1} bins; allowed: {MOST_BINS}.*of 2 cycles"):
        Window(5, 6 + MOST_BINS, 1)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(sm=3), "no SM 3; allowed: 0 to 2"),
        (Selection(sm=-1), "no SM -1; allowed: 0 to 2"),
        (Selection(warp=5), "no warp 5; allowed: 0 to 4"),
        (Selection(warp=-1), "no warp -1; allowed: 0 to 4"),
        (Selection(app="lomg"), "'lomg'; did you mean 'long'.*; there is: long, short"),
    ],
)
@pytest.mark.parametrize("show", [stalls, activity, timeline])
def test_selections(show: Callable[..., object], selection: Selection, message: str) -> None:
    with made(intervals=[]) as result, pytest.raises(UserError, match=message):
        show(result, Window(0, 10, 1), selection)


@pytest.mark.parametrize(
    ("show", "record"),
    [
        (lambda result: stalls(result, Window(0, 9, 1)), "intervals"),
        (lambda result: timeline(result, Window(0, 9, 1)), "intervals"),
        (lambda result: stalled_on(result, 3), "intervals"),
        (lambda result: walks_at(result, 3), "walks"),
    ],
)
def test_what_was_not_recorded(show: Callable[[Result], object], record: str) -> None:
    match = f"no '{record}': run it with record = {record} .recorded were: {{}}"
    with made() as result, pytest.raises(UserError, match=match.format("nothing")):
        show(result)
    with made(dram=[]) as result, pytest.raises(UserError, match=match.format("dram")):
        show(result)


def test_nothing_was_recorded_at_all() -> None:
    with made() as result, pytest.raises(UserError, match=r"record = intervals.*were: nothing"):
        activity(result, Window(0, 9, 1))


@pytest.mark.parametrize("cycle", [-1, CYCLES])
def test_cycles(cycle: int) -> None:
    with made(intervals=[], walks=[]) as result:
        for show in (stalled_on, walks_at):
            with pytest.raises(UserError, match=f"no cycle {cycle}; allowed: 0 to {CYCLES - 1}"):
                show(result, cycle)


def test_nothing_in_sight_is_zero() -> None:
    with made(intervals=[(0, 0, 0, 0, 3, 5, 9)], walks=[]) as result:
        assert stalls(result, Window(0, 100, 10), Selection(warp=4)).sum() == 0
        assert stalls(result, Window(9, 100, 10)).sum() == 0
        assert stalls(result, Window(0, 100, 10)).sum() == 4
        assert stalled_on(result, 9).empty
        assert walks_at(result, 9).empty
