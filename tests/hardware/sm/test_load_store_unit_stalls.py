"""What stops a load/store unit, between mock neighbours: MSHRs, a full crossbar, TLB, credits.

A miss takes 4 cycles to the crossbar, whose reply comes 50 later.
"""

from __future__ import annotations

import pytest

from gpusim.core.request import Kind, resolve_trail
from gpusim.core.states import State
from tests.hardware.mocks import at
from tests.hardware.sm.lsu_bench import (
    L1,
    LINES_OF_PAGE,
    REPLY,
    TRANSLATION,
    Bench,
    physical,
)

MISS = L1 + REPLY
FAR = 5 * LINES_OF_PAGE
"""The first line of page 5, which the TLB does not have."""
STORE, REDUCE, ATOMIC = Kind.STORE, Kind.REDUCE, Kind.ATOMIC


def blocked_by_an_mshr() -> Bench:
    """Two misses and one MSHR, and behind them a hit."""
    bench = Bench()
    bench.l1.free = 1
    bench.hold(5)
    for cycle, line in ((10, 3), (11, 4), (12, 5)):
        bench.issue(cycle, line)
    return bench


def test_a_load_without_an_mshr_holds_up_what_is_behind_it() -> None:
    bench = blocked_by_an_mshr()
    first, second, third = bench.run()
    assert (first, second) == (11 + MISS, 11 + MISS + MISS)
    assert third >= 11 + MISS + L1
    assert bench.sent == [(11 + L1, physical(3)), (11 + MISS + L1, physical(4))]
    assert bench.tlb.claims[:2] == [11, 12]
    assert bench.tlb.claims[2] >= 11 + MISS


@pytest.mark.xfail(
    strict=True,
    reason="a fill that ends a stall wakes the unit again in the cycle in which it has gone on",
)
def test_the_width_bounds_what_starts_in_the_cycle_in_which_a_stall_ends() -> None:
    assert blocked_by_an_mshr().run()[2] == 12 + MISS + L1


def test_a_miss_on_a_line_under_way_needs_no_mshr() -> None:
    bench = Bench()
    bench.l1.free = 1
    for cycle in (10, 20):
        bench.issue(cycle, 3)
    assert bench.run() == [11 + MISS, 11 + MISS]
    assert len(bench.sent) == 1


def test_a_full_crossbar_holds_up_what_is_behind() -> None:
    bench = Bench(depth=1, opens=100)
    bench.hold(5)
    for cycle, line in ((10, 3), (11, 4), (12, 5)):
        bench.issue(cycle, line)
    assert bench.run() == [100 + REPLY, 100 + MISS, 101 + L1]
    assert bench.sent == [(100, physical(3)), (100 + L1, physical(4))]


def test_a_tlb_miss_that_is_refused_holds_up_what_is_behind() -> None:
    bench = Bench()
    bench.tlb.room = False
    bench.hold(3, FAR)
    bench.issue(10, FAR)
    bench.issue(11, 3)
    at(bench.env, 80, bench.tlb.make_room)
    assert bench.run() == [80 + TRANSLATION + L1, 81 + L1]
    assert bench.tlb.missed == [(80, 5)]


def test_a_tlb_miss_that_waits_for_its_answer_holds_up_nothing() -> None:
    bench = Bench()
    bench.hold(3, FAR)
    bench.issue(10, FAR)
    bench.issue(11, 3)
    assert bench.run() == [11 + TRANSLATION + L1, 12 + L1]


@pytest.mark.parametrize("kind", [STORE, REDUCE])
def test_a_store_without_a_credit_waits_for_an_acknowledgement(kind: Kind) -> None:
    bench = Bench(store_credits=1)
    bench.hold(5)
    bench.issue(10, 3, kind=kind)
    bench.issue(11, 4, kind=kind)
    bench.issue(12, 5)
    assert bench.run() == [11 + MISS, 11 + MISS + MISS, 12 + MISS + L1]
    assert bench.unit.credits == 1


def test_as_many_stores_are_under_way_as_there_are_credits() -> None:
    bench = Bench(store_credits=2)
    bench.issue(10, 1, 2, 3, kind=STORE)
    left: list[int] = []
    for cycle in (9, 11, 12, 20):
        at(bench.env, cycle, lambda: at(bench.env, 0, lambda: left.append(bench.unit.credits)))
    assert bench.run() == [11 + MISS + MISS]
    assert [cycle for cycle, _ in bench.sent] == [11 + L1, 12 + L1, 11 + MISS + L1]
    assert left == [2, 1, 0, 0]


def test_atomics_and_loads_need_no_credit() -> None:
    bench = Bench(store_credits=1)
    bench.issue(10, 3, kind=STORE)
    bench.issue(11, 4, kind=ATOMIC)
    bench.issue(12, 5)
    assert bench.run() == [11 + MISS, 12 + MISS, 13 + MISS]
    assert bench.unit.credits == 1


@pytest.mark.parametrize(("state", "kind"), [(State.MSHR, Kind.LOAD), (State.CREDIT, STORE)])
def test_the_trail_of_a_request_says_what_stopped_the_unit(state: State, kind: Kind) -> None:
    bench = Bench(store_credits=1)
    bench.l1.free = 1
    bench.issue(10, 3, kind=kind)
    bench.issue(11, 4, kind=kind)
    bench.run()
    again = 11 + MISS
    _, (_, second) = bench.crossbar.arrived
    pieces = resolve_trail(second, 11, again + L1)
    assert pieces == [
        (int(State.LSU), 11, 12),
        (int(state), 12, again),
        (int(State.CACHE), again, again + L1),
    ]
