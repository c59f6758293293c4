"""A TLB level between mock neighbours: latency, merging, MSHRs, ports, full ports, shoot-downs.

A lookup takes 3 cycles; what is below answers 20 cycles after a miss has reached it.
"""

from __future__ import annotations

import pytest

from gpusim.core.errors import WrongMappingError
from gpusim.core.mapping import Mapping
from gpusim.files.units import cycles
from tests.hardware.mocks import at
from tests.hardware.tlb.level_bench import BELOW, LATENCY, WALKER, Bench, FirstBench

MISS = LATENCY + BELOW
A, B, C = 1, 2, 3
"""Pages."""


def test_a_hit_takes_the_latency() -> None:
    bench = Bench()
    bench.hold(A)
    bench.ask(5, A)
    assert bench.run() == [(5 + LATENCY, A)]
    assert bench.frames == [101]
    assert bench.sent == []
    assert bench.counts("lookups", "hits", "misses") == [1, 1, 0]


def test_the_way_to_the_level_takes_its_trip() -> None:
    bench = Bench(trip=cycles(7))
    bench.hold(A)
    bench.ask(5, A)
    assert bench.run() == [(5 + 7 + LATENCY, A)]


def test_a_miss_is_sent_on_after_the_lookup_and_fills_the_array() -> None:
    bench = Bench()
    bench.ask(0, A)
    bench.ask(50, A)
    assert bench.run() == [(MISS, A), (50 + LATENCY, A)]
    assert bench.sent == [(LATENCY, A)]
    assert bench.frames == [101, 101]
    assert bench.counts("lookups", "hits", "misses", "fills", "evictions") == [2, 1, 1, 1, 0]


def test_the_trail_of_a_miss_says_where_it_was() -> None:
    bench = Bench()
    bench.ask(4, A)
    bench.run()
    (_, missed), *_ = bench.requester.answers
    assert missed.trail == [bench.state, 0, WALKER, 4 + LATENCY]


def test_a_second_miss_on_a_page_waits_for_the_first() -> None:
    bench = Bench()
    bench.ask(0, A)
    bench.ask(10, A)
    assert bench.run() == [(MISS, A), (MISS, A)]
    assert bench.sent == [(LATENCY, A)]
    assert bench.counts("misses", "merged", "fills") == [2, 1, 1]


def test_misses_that_do_not_merge_are_each_sent_on() -> None:
    bench = Bench(merging=False)
    bench.ask(0, A)
    bench.ask(10, A)
    assert bench.run() == [(MISS, A), (10 + MISS, A)]
    assert bench.sent == [(LATENCY, A), (10 + LATENCY, A)]
    assert bench.counts("misses", "merged", "fills") == [2, 0, 2]


def test_without_a_free_mshr_a_miss_waits_for_a_fill_and_holds_up_the_queue() -> None:
    bench = Bench(mshrs=1)
    bench.hold(C)
    for cycle, tag in ((0, A), (1, B), (2, C)):
        bench.ask(cycle, tag)
    # B is looked up again in the cycle of the fill, and C, a hit, one cycle later.
    assert bench.run() == [(MISS, A), (MISS + 1 + LATENCY, C), (MISS + MISS, B)]
    assert bench.sent == [(LATENCY, A), (MISS + LATENCY, B)]
    assert bench.counts("lookups", "misses", "stalls") == [3, 2, 1]


def test_a_miss_that_merges_needs_no_mshr() -> None:
    bench = Bench(mshrs=1)
    bench.ask(0, A)
    bench.ask(1, A)
    bench.ask(2, B)
    assert bench.run() == [(MISS, A), (MISS, A), (MISS + MISS, B)]
    assert bench.counts("merged", "stalls") == [1, 1]


@pytest.mark.parametrize(("ports", "later"), [(1, [0, 1, 2]), (2, [0, 0, 1]), (3, [0, 0, 0])])
def test_a_level_looks_up_as_many_as_it_has_ports(ports: int, later: list[int]) -> None:
    bench = Bench(ports=ports)
    bench.hold(A, B, C)
    for tag in (A, B, C):
        bench.ask(10, tag)
    start = 10 + LATENCY
    assert [cycle for cycle, _ in bench.run()] == [start + cycle for cycle in later]
    (queue,) = bench.level.shared_counters()
    assert (queue.queued, queue.queue_cycles) == (3, sum(later))


@pytest.mark.parametrize(("pipelined", "second"), [(0, 3), (2, 1)])
def test_a_lookup_that_takes_longer_holds_its_port_unless_it_is_pipelined(
    pipelined: int, second: int
) -> None:
    bench = Bench()
    bench.hold(A, B)
    bench.array.extra_cycles, bench.array.pipelined_cycles = 2, pipelined
    bench.ask(10, A)
    bench.ask(10, B)
    longer = LATENCY + 2
    assert bench.run() == [(10 + longer, A), (10 + second + longer, B)]


def test_a_full_port_below_holds_back_misses() -> None:
    bench = Bench(depth=1, opens=100)
    bench.hold(C)
    for cycle, tag in ((0, A), (1, B), (2, C)):
        bench.ask(cycle, tag)
    # What is below takes A in cycle 100, which makes room: B is looked up again at once.
    assert bench.run() == [(101 + LATENCY, C), (100 + BELOW, A), (100 + MISS, B)]
    assert bench.sent == [(100, A), (100 + LATENCY, B)]
    assert bench.counts("lookups", "stalls") == [3, 1]


def test_a_fill_evicts() -> None:
    bench = Bench(entries=1, ways=1)
    for cycle, tag in ((0, A), (50, B), (100, A)):
        bench.ask(cycle, tag)
    assert bench.run() == [(MISS, A), (50 + MISS, B), (100 + MISS, A)]
    assert bench.counts("fills", "evictions") == [3, 2]


def test_a_shoot_down_takes_a_page_out_of_the_array() -> None:
    bench = Bench()
    bench.hold(A, B)
    at(bench.env, 10, lambda: bench.pages.move(A, 7))
    at(bench.env, 10, lambda: bench.level.shoot_down(A))
    bench.ask(20, A)
    bench.ask(30, B)
    assert bench.run() == [(30 + LATENCY, B), (20 + MISS, A)]
    assert bench.frames == [102, 7]


@pytest.mark.parametrize("shot_down", [A, None])
def test_a_page_that_is_shot_down_on_its_way_is_asked_for_again(shot_down: int | None) -> None:
    bench = Bench()
    at(bench.env, 10, lambda: bench.pages.move(A, 7))
    at(bench.env, 10, lambda: bench.level.shoot_down(shot_down))
    for cycle in (0, 5, 15, 40):
        bench.ask(cycle, A)
    # What has asked before the fill, whose answer is out of date, gets no mapping.
    assert bench.run() == [(MISS, A)] * 3 + [(40 + MISS, A)]
    assert bench.frames == [None, None, None, 7]
    assert bench.sent == [(LATENCY, A), (40 + LATENCY, A)]


def test_a_shoot_down_of_another_page_does_not_matter() -> None:
    bench = Bench()
    bench.ask(0, A)
    at(bench.env, 10, lambda: bench.level.shoot_down(B))
    bench.run()
    assert bench.frames == [101]


def test_an_answer_that_the_page_table_does_not_give_ends_the_run() -> None:
    bench = Bench()
    bench.ask(0, A)
    at(bench.env, 10, lambda: bench.pages.move(A, 7))  # without a shoot-down
    with pytest.raises(WrongMappingError, match="below"):
        bench.run()


def test_a_hit_that_the_page_table_does_not_give_ends_the_run() -> None:
    bench = Bench()
    bench.array.insert(A, Mapping(A, 7), 0)
    bench.ask(0, A)
    with pytest.raises(WrongMappingError, match="SetAssociativeArray"):
        bench.run()


def test_prefetches_fill_the_array_and_are_counted_apart() -> None:
    bench = Bench()
    bench.ask(0, A, prefetch=True)
    bench.ask(50, A)
    bench.ask(60, A, prefetch=True)
    assert bench.run() == [(MISS, A), (50 + LATENCY, A), (60 + LATENCY, A)]
    assert bench.counts("lookups", "hits", "misses", "fills") == [1, 1, 0, 0]
    assert bench.prefetch_counts("lookups", "hits", "misses", "fills") == [2, 1, 1, 1]


def test_a_miss_waits_for_a_prefetch_that_is_on_its_way() -> None:
    bench = Bench()
    bench.ask(0, A, prefetch=True)
    bench.ask(10, A)
    assert bench.run() == [(MISS, A), (MISS, A)]
    assert bench.sent == [(LATENCY, A)]
    assert bench.counts("lookups", "misses", "merged", "fills") == [1, 1, 1, 0]
    assert bench.prefetch_counts("lookups", "misses", "merged", "fills") == [1, 1, 0, 1]


def test_the_first_level_has_its_ports_in_each_cycle() -> None:
    bench = FirstBench(ports=2)
    claims: list[bool] = []
    for cycle in (5, 6):
        for _ in range(3):
            at(bench.env, cycle, lambda: claims.append(bench.level.claim()))
    bench.env.run()
    assert claims == [True, True, False] * 2


def test_a_request_that_misses_in_the_first_level_comes_back_with_its_mapping() -> None:
    bench = FirstBench()
    at(bench.env, 10, lambda: bench.look_up(A, delay=4))
    at(bench.env, 12, lambda: bench.look_up(A))
    assert bench.run_first() == [(10 + 4 + MISS, A), (10 + 4 + MISS, A)]
    assert bench.sent == [(10 + 4 + LATENCY, A)]
    mappings = [one.mapping for _, one in bench.translated.answers]
    assert mappings == [bench.pages.find(A)] * 2


def test_what_the_first_level_refuses_is_woken_by_the_fill() -> None:
    bench = FirstBench(mshrs=1)
    at(bench.env, 10, lambda: bench.look_up(A))
    at(bench.env, 11, lambda: bench.look_up(B))
    assert bench.run_first() == [(10 + MISS, A)]
    assert bench.refusals == [11]
    assert bench.sender.woken == [10 + MISS]
    assert bench.counts("lookups", "misses", "stalls") == [1, 1, 1]


def test_what_the_first_level_refuses_is_woken_by_room_below() -> None:
    bench = FirstBench(depth=1, opens=100)
    at(bench.env, 10, lambda: bench.look_up(A))
    at(bench.env, 11, lambda: bench.look_up(B))
    assert bench.run_first() == [(100 + BELOW, A)]
    assert bench.sender.woken == [100]


def test_long_misses_are_those_that_the_next_level_cannot_answer() -> None:
    bench = FirstBench()
    bench.missed_below.add(B)
    at(bench.env, 10, lambda: bench.look_up(A))
    at(bench.env, 11, lambda: bench.look_up(B))
    bench.run_first()
    (long_misses,) = [one for one in bench.level.app_counters(0) if hasattr(one, "long_misses")]
    assert (long_misses.long_misses, long_misses.long_miss_cycles) == (1, MISS)
