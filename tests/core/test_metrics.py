"""Headline numbers as data: checked where they are declared, placed where their counters are."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from attrs import define

from gpusim.core.component import Component, metrics_of
from gpusim.core.counters import CounterRow, count
from gpusim.core.errors import UserError
from gpusim.core.metrics import (
    Formula,
    GigabytesPerSecond,
    MeanPerCycle,
    MeanRatio,
    Metric,
    Most,
    PerCycle,
    PerKiloInstruction,
    Ratio,
    Scope,
    Total,
    declare_metrics,
    place_metrics,
)
from gpusim.core.tally import Tally, Term, sum_of


@define(slots=True)
class DoorCounters:
    knocks: int = count("knocks")
    opened: int = count("knocks after which it opened")


@define(slots=True)
class LatchCounters(DoorCounters):
    """A latch counts what a door counts."""


declare_metrics(
    DoorCounters,
    Metric("door_{}_rate", "fraction", "doors of {} that opened", Ratio("opened", "knocks")),
    Metric("knocks", "1", "knocks at all doors", Total("knocks")),
)


def rows(path: str, instance: int = 0, app: str = "a", **values: int) -> list[CounterRow]:
    return [CounterRow(path, instance, app, name, n, "1", "") for name, n in values.items()]


def scope(*counters: Iterable[CounterRow], **facts: int) -> Scope:
    told = {"cycles": 100, "core_hertz": 2_000_000_000, "instructions": 500, **facts}
    return Scope(Tally(row for some in counters for row in some), **told)


@pytest.mark.parametrize("text", ["", "hits +", "+ hits", "hits+misses", "hits * 2", "a+b.hits"])
def test_what_is_no_sum(text: str) -> None:
    with pytest.raises(ValueError, match="is no counter"):
        sum_of(text)


def test_sums_are_read() -> None:
    assert sum_of("hits - 2 * tlb/L1.misses + walks").terms == (
        Term(1, "", "hits"),
        Term(-2, "tlb/L1", "misses"),
        Term(1, "", "walks"),
    )


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        (Total("hits"), 13),
        (Total("hits - 2 * lookups"), 13 - 80),
        (Total("hits + other.walks"), 20),
        (PerCycle("hits"), 0.13),
        (MeanPerCycle("hits"), 13 / 300),
        (PerKiloInstruction("hits"), 26),
        (GigabytesPerSecond("lookups"), 40 / 50),
        (Most("hits"), 10),
        (Ratio("hits", "lookups"), 13 / 40),
        (Ratio("hits", "hits - hits"), None),
        (MeanRatio("hits", "lookups"), (10 / 30 + 3 / 10) / 2),
        (Total("lost"), None),
        (Most("lost"), None),
        (MeanRatio("lost", "lookups"), None),
        (Ratio("lost", "lookups"), None),
    ],
)
def test_formulas(formula: Formula, value: float | None) -> None:
    """Three instances, of which one was asked by two applications and one by none."""
    told = scope(
        rows("here", 0, "a", hits=4, lookups=10),
        rows("here", 0, "b", hits=6, lookups=20),
        rows("here", 1, "a", hits=3, lookups=10),
        rows("here", 2, "a", hits=0, lookups=0),
        rows("other", walks=7),
    )
    assert formula.value(["here"], told) == value


def test_without_instructions_there_is_no_number_a_thousand_of_them() -> None:
    told = Scope(Tally(rows("here", hits=1)), 100, 10**9)
    assert PerKiloInstruction("hits").value(["here"], told) is None


def test_a_number_of_counters_that_are_not_there_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="'open_rate' names 'opend', which DoorCounters does not"):
        declare_metrics(DoorCounters, Metric("open_rate", "fraction", "", Ratio("opend", "knocks")))
    with pytest.raises(ValueError, match="did you mean 'knocks'"):
        declare_metrics(DoorCounters, Metric("all", "1", "", Total("knock")))
    with pytest.raises(ValueError, match="'elsewhere' names 'knocks'"):
        declare_metrics(DoorCounters, Metric("elsewhere", "1", "", Total("here.knocks")))


def test_one_for_each_path_or_one_for_all() -> None:
    """A class that counts more has the numbers of the one that it extends."""
    placed = place_metrics(
        [("door/front", "front", DoorCounters), ("door/back", "back", LatchCounters)] * 2
    )
    told = scope(rows("door/front", knocks=4, opened=1), rows("door/back", knocks=2, opened=2))
    assert [(one.name, one.value(told)) for one in placed] == [
        ("door_front_rate", 0.25),
        ("knocks", 6),
        ("door_back_rate", 1),
    ]
    assert placed[0].description == "doors of front that opened"


def test_two_numbers_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two headline numbers 'door_x_rate'"):
        place_metrics([("a/x", "x", DoorCounters), ("b/x", "x", DoorCounters)])

    @define(slots=True)
    class Other:
        knocks: int = count("others")

    declare_metrics(Other, Metric("knocks", "1", "others", Total("knocks")))
    with pytest.raises(ValueError, match="two headline numbers 'knocks'"):
        place_metrics([("a", "a", DoorCounters), ("b", "b", Other)])


class Door(Component):
    path = "door/front"
    name = "door.front[0]"

    def __init__(self) -> None:
        self.counters = [DoorCounters(3, 1), DoorCounters(5, 5)]

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)


def test_a_component_tells_its_counters_by_application_and_its_numbers() -> None:
    door = Door()
    found = [(row.app, row.name, row.value) for row in door.counter_rows(["a", "b"])]
    assert found == [("a", "knocks", 3), ("a", "opened", 1), ("b", "knocks", 5), ("b", "opened", 5)]
    assert [one.name for one in metrics_of([door, Door()], 2)] == ["door_front_rate", "knocks"]
    assert door.in_flight() == 0
    assert not list(door.waiting())


def test_a_policy_may_not_count_what_its_component_counts() -> None:
    @define(slots=True)
    class OwnCounters:
        opened: int = count("mine")

    class OwnDoor(Door):
        def shared_counters(self) -> Iterable[object]:
            return (OwnCounters(),)

    with pytest.raises(UserError, match="door/front: DoorCounters and OwnCounters both count 'op"):
        metrics_of([OwnDoor()], 1)
