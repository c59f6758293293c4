"""A load/store unit between mock neighbours: ways of a transaction, how many start, answers.

An instruction that is handed over in cycle *t* starts in *t + 1*.  A lookup of TLB and L1 cache
side by side takes 4 cycles, a TLB miss 30, a reply of the crossbar 50.
"""

from __future__ import annotations

import pytest

from gpusim.core.request import Kind
from tests.hardware.mocks import at
from tests.hardware.sm.lsu_bench import (
    L1,
    LINES_OF_PAGE,
    REPLY,
    TLB,
    TRANSLATION,
    Bench,
    physical,
)

MISS = L1 + REPLY
FAR = 5 * LINES_OF_PAGE
"""The first line of page 5, which the TLB does not have."""
STORE, REDUCE, ATOMIC = Kind.STORE, Kind.REDUCE, Kind.ATOMIC


# -- ways of one transaction -----------------------------------------------------------------------


def test_a_load_that_hits_completes_after_the_longer_lookup() -> None:
    bench = Bench()
    bench.hold(3)
    bench.issue(10, 3)
    assert bench.run() == [11 + L1]
    assert bench.sent == []


def test_a_load_that_misses_completes_with_its_reply() -> None:
    bench = Bench()
    bench.issue(10, 3)
    assert bench.run() == [11 + MISS]
    assert bench.sent == [(11 + L1, physical(3))]
    assert bench.l1.filled == [11 + MISS]


def test_lookups_one_after_the_other_take_both_latencies() -> None:
    bench = Bench(translation="before")
    bench.hold(3)
    bench.issue(10, 3)
    bench.issue(20, 4)
    assert bench.run() == [11 + TLB + L1, 21 + TLB + MISS]


def test_a_load_goes_on_to_the_l1_when_its_page_is_translated() -> None:
    bench = Bench()
    bench.hold(FAR)
    bench.issue(10, FAR)
    bench.issue(60, FAR + 1)
    assert bench.run() == [11 + TRANSLATION + L1, 61 + TRANSLATION + MISS]
    assert bench.tlb.missed == [(11, 5), (61, 5)]
    assert bench.sent == [(61 + TRANSLATION + L1, physical(FAR + 1))]


def test_a_page_that_went_while_it_was_translated_is_asked_for_again() -> None:
    bench = Bench()
    bench.tlb.gone.add(5)
    bench.hold(FAR)
    bench.issue(10, FAR)
    assert bench.run() == [11 + TRANSLATION + TLB + L1]
    assert bench.tlb.missed == [(11, 5)]
    assert bench.tlb.claims == [11, 11 + TRANSLATION]


def test_a_translation_that_takes_long_is_taken_in_its_cycle() -> None:
    slow = 9
    bench = Bench(tlb=slow)
    bench.tlb.gone.add(5)
    bench.hold(FAR)
    bench.issue(10, FAR)
    again = 11 + TRANSLATION
    bench.issue(again, 3)  # starts one cycle after the unit asked for page 5 again
    assert bench.run() == [again + slow + L1, again + 1 + slow + REPLY]


def test_a_virtual_l1_asks_the_tlb_only_for_what_misses() -> None:
    bench = Bench(translation="after")
    bench.l1.lines_held.add(3)  # by its virtual number
    bench.issue(10, 3)
    bench.issue(20, 4)
    bench.issue(30, FAR)
    assert bench.run() == [11 + L1, 21 + L1 + TLB + REPLY, 31 + L1 + TRANSLATION + REPLY]
    assert bench.tlb.claims == [21, 31]
    assert bench.tlb.missed == [(31 + L1, 5)]
    assert bench.sent[0] == (21 + L1 + TLB, physical(4))


@pytest.mark.parametrize("kind", [STORE, REDUCE, ATOMIC])
def test_a_store_or_an_atomic_goes_past_the_l1_and_completes_with_its_answer(kind: Kind) -> None:
    bench = Bench()
    bench.hold(3)
    bench.issue(10, 3, kind=kind)
    assert bench.run() == [11 + MISS]
    assert bench.l1.stored == [(11, physical(3))]
    assert bench.l1.filled == []


# -- how many start --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "interval", "last"),
    [(1, 1, 3), (2, 1, 1), (4, 1, 0), (1, 3, 9), (2, 3, 3), (2, 2, 2)],
)
def test_width_and_interval_bound_the_transactions_that_start(
    width: int, interval: int, last: int
) -> None:
    bench = Bench(lsu_width=width, lsu_interval=interval)
    lines = range(4)
    bench.hold(*lines)
    bench.issue(10, *lines)
    assert bench.run() == [11 + last + L1]
    assert bench.tlb.claims == sorted(11 + number // width * interval for number in lines)


def test_the_width_is_shared_by_instructions() -> None:
    bench = Bench(lsu_width=2)
    bench.hold(1, 2, 3, 4)
    bench.issue(10, 1)
    bench.issue(10, 2, 3)
    bench.issue(10, 4)
    assert bench.run() == [11 + L1, 12 + L1, 12 + L1]


def test_a_tlb_port_bounds_what_starts() -> None:
    bench = Bench(lsu_width=4)
    bench.tlb.most_claims = 1
    bench.hold(*range(4))
    bench.issue(10, *range(4))
    assert bench.run() == [11 + 3 + L1]
    assert bench.tlb.claims == [11, 12, 13, 14]


def test_the_queue_is_full_until_an_instruction_has_started_all_its_transactions() -> None:
    bench = Bench(lsu_queue=2)
    seen: list[bool] = []
    bench.hold(1, 2, 3)
    bench.issue(10, 1, 2)
    bench.issue(10, 3)
    for cycle in (9, 11, 13):
        at(bench.env, cycle, lambda: seen.append(bench.unit.full))
    bench.run()
    assert seen == [False, True, False]
    assert bench.sm.room == [12, 13]


def test_a_translated_request_goes_before_new_transactions() -> None:
    bench = Bench()
    lines = range(1, 4)
    bench.hold(FAR, *lines)
    bench.issue(10, FAR)
    bench.issue(10 + TRANSLATION, *lines)
    # The TLB answers in the cycle in which the first of three others would start.
    assert bench.run() == [11 + TRANSLATION + L1, 11 + TRANSLATION + 3 + L1]


# -- answers ---------------------------------------------------------------------------------------


def test_loads_are_under_way_side_by_side_and_complete_with_their_own_replies() -> None:
    bench = Bench()
    for cycle, line in ((10, 3), (11, 4), (12, 5)):
        bench.issue(cycle, line)
    assert bench.run() == [11 + MISS, 12 + MISS, 13 + MISS]


def test_an_instruction_completes_with_its_last_reply() -> None:
    bench = Bench()
    bench.hold(4)
    bench.issue(10, 3, 4, 5)
    assert bench.run() == [13 + MISS]
    assert bench.l1.filled == [11 + MISS, 13 + MISS]


def test_a_hit_can_be_later_than_a_reply() -> None:
    bench = Bench(reply=0)
    bench.hold(4)
    bench.issue(10, 3, 4)
    assert bench.run() == [12 + L1]
    assert bench.l1.filled == [11 + L1]


def test_each_transaction_is_announced_with_its_issue_and_its_answer() -> None:
    bench = Bench()
    told: list[tuple[int, int, int]] = []
    bench.unit.on_request.listen(
        lambda request, begin, end: told.append((request.vline, begin, end))
    )
    bench.hold(4)
    bench.issue(10, 3, 4)
    bench.run()
    assert told == [(4, 10, 12 + L1), (3, 10, 11 + MISS)]
