"""Which waiting walk begins: orders worked out by hand, and what an order is given.

The machine is that of `test_latency`, with one walker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Purpose
from gpusim.files.units import cycles
from gpusim.hardware.walk import Walk, WalkOrder
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE

FIRST = 645
"""A load that misses everywhere, see `test_latency`; its walk takes 500."""
VPN = BASE // 4096
ARRIVES = 13
"""Cycle in which the walk of the first load comes: issued in 1, L1 TLB 1, L2 TLB 10."""


class LastCome(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return len(waiting) - 1


class HighestPage(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return max(range(len(waiting)), key=lambda index: waiting[index].tag)


class TooFar(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return len(waiting)


class Negative(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return -1


class Diary(WalkOrder):
    """First come, first served; writes down what it is given."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.walks: list[Walk] = []
        self.others: list[object] = []

    def arrived(self, walk: Walk, cycle: int) -> None:
        self.walks.append(walk)
        self.told.append(("arrived", walk.tag - VPN, cycle))

    def merged(self, walk: Walk, access: object, cycle: int) -> None:
        self.others.append(access)
        self.told.append(("merged", walk.tag - VPN, cycle))

    def finished(self, walk: Walk, cycle: int) -> None:
        self.told.append(("finished", walk.tag - VPN, cycle))

    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        assert [walk.requested for walk in waiting] == sorted(walk.requested for walk in waiting)
        self.told.append(("chosen", [walk.tag - VPN for walk in waiting], cycle))
        return 0


def ordered(name: str, config: GpuConfig = SMALL, walkers: int = 1) -> GpuConfig:
    order = PolicyConfig(f"{__name__}:{name}" if name[0].isupper() else name)
    return attrs.evolve(config, walk=WalkConfig(walkers, "fixed", cycles(500), order=order))


def page(number: int) -> int:
    """An address in a page, of another line of the L1 cache than those in other pages."""
    return BASE + (4096 + 128) * number


def pages_of(run: Run) -> list[int]:
    """Pages in the order in which their loads were answered."""
    return [request.tag - VPN for request in run.requests]


@pytest.mark.parametrize(
    ("name", "order"),
    [("fcfs", [2, 0, 3, 1]), ("LastCome", [2, 1, 3, 0]), ("HighestPage", [2, 3, 1, 0])],
)
def test_the_order_of_four_walks(name: str, order: list[int]) -> None:
    """Page 2 comes first and finds a free walker; the others wait for it."""
    run = Run(ordered(name), [("load", *map(page, (2, 0, 3, 1))), ("wait",)])
    assert pages_of(run) == order
    assert run.latencies == [FIRST, FIRST + 500, FIRST + 1000, FIRST + 1500]
    assert run.count("walk", "queue_cycles") == (500 - 1) + (1000 - 2) + (1500 - 3)


def test_an_order_does_not_matter_where_no_walk_waits() -> None:
    script = [("load", *map(page, range(4))), ("wait",)]
    runs = [Run(ordered(name, walkers=4), script) for name in ("fcfs", "LastCome")]
    assert runs[0].loads == runs[1].loads


@pytest.mark.parametrize(("name", "chosen"), [("TooFar", 1), ("Negative", -1)])
def test_a_walk_that_is_not_there(name: str, chosen: int) -> None:
    message = rf"walk\.order: {name} chose walk {chosen} of the 1 that wait; allowed: 0 to 0"
    with pytest.raises(UserError, match=message):
        Run(ordered(name), [("load", BASE), ("wait",)])


def diary(run: Run) -> Diary:
    order = run.machine.systems[0].walkers.order
    assert isinstance(order, Diary)
    return order


def test_what_an_order_is_told() -> None:
    run = Run(ordered("Diary"), [("load", page(0), page(1)), ("wait",)])
    assert diary(run).told == [
        ("arrived", 0, ARRIVES),
        ("chosen", [0], ARRIVES),
        ("arrived", 1, ARRIVES + 1),
        ("finished", 0, ARRIVES + 500),
        ("chosen", [1], ARRIVES + 500),
        ("finished", 1, ARRIVES + 1000),
    ]


def test_all_walks_of_an_instruction_have_one_access() -> None:
    """Two warps load three pages each, all of them different."""
    scripts = [
        [("load", *(page(number) for number in (3 * warp, 3 * warp + 1, 3 * warp + 2))), ("wait",)]
        for warp in range(2)
    ]
    run = Run(ordered("Diary"), *scripts)
    accesses: dict[int, set[int]] = {}
    for walk in diary(run).walks:
        assert walk.access is not None
        accesses.setdefault((walk.tag - VPN) // 3, set()).add(id(walk.access))
    assert [len(found) for found in accesses.values()] == [1, 1]
    assert len(set.union(*accesses.values())) == 2


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
def test_the_access_is_that_of_the_load(translation: str) -> None:
    config = change(ordered("Diary"), l1={"translation": translation})
    run = Run(config, [("load", page(0), page(1)), ("wait",)])
    (first, second) = diary(run).walks
    assert first.access is second.access is run.requests[0].access
    assert [first.app, first.sm, first.kind] == [0, 0, Purpose.DEMAND]


def test_a_later_instruction_has_another_one() -> None:
    run = Run(ordered("Diary"), [("load", page(0)), ("wait",), ("load", page(1)), ("wait",)])
    first, second = diary(run).walks
    assert first.access is not second.access


def test_an_instruction_that_joins_a_walk_is_told() -> None:
    """Two SMs without a common TLB in front of the walkers."""
    config = change(ordered("Diary"), sm={"count": 2})
    config = attrs.evolve(config, tlb={"L1": config.tlb["L1"]})
    tenant = Tenant(
        "app", ScriptedApplication([ScriptedLaunch([[[("load", BASE)]]] * 2)]), range(2)
    )
    run = Run.of(config, [tenant])
    told = diary(run)
    assert [what for what, *_ in told.told] == ["arrived", "chosen", "merged", "finished"]
    (walk,) = told.walks
    assert told.others == [next(one.access for one in run.requests if one.sm == 1)]
    assert walk.access is next(one.access for one in run.requests if one.sm == 0)
    assert run.count("walk", "merged") == 1


def test_walks_of_one_sm_are_told_apart_by_application() -> None:
    config = change(ordered("Diary"), sm={"count": 2})
    tenants = [
        Tenant(f"app{sm}", ScriptedApplication([ScriptedLaunch([[[("load", BASE)]]])]), [sm])
        for sm in range(2)
    ]
    run = Run.of(config, tenants)
    assert [(walk.app, walk.sm) for walk in diary(run).walks] == [(0, 0), (1, 1)]
