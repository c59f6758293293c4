"""A bank of the L2 cache between mock neighbours: latencies, merging, back-pressure, write-backs.

A lookup takes 10 cycles, DRAM 100; both mocks pass requests on in the cycle in which they come.
"""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.core.request import Kind
from tests.hardware.cache.bank_bench import DRAM, LATENCY, LINE, TRIP, Bench, VirtualBench, sectored

HIT, MISS = LATENCY, LATENCY + DRAM
SETS = 4
A, B, C = 0, SETS * LINE, 2 * SETS * LINE
"""Lines of one set of two ways."""
LOAD, WALK, WRITEBACK = int(Kind.LOAD), int(Kind.WALK), int(Kind.WRITEBACK)

CUTS: list[dict[str, Any]] = [{}, sectored(), sectored(128, byte_masks=True)]


@pytest.mark.parametrize("cut", CUTS)
def test_a_miss_then_a_hit(cut: dict[str, Any]) -> None:
    bench = Bench(**cut)
    bench.load(0, A)
    bench.load(200, A)
    assert bench.run() == [MISS, 200 + HIT]
    assert bench.asked[0][:3] == (LATENCY, LOAD, A)
    names = ("lookups", "hits", "misses", "fills", "merged")
    assert [bench.count(name) for name in names] == [2, 1, 1, 1, 0]


@pytest.mark.parametrize("cut", CUTS)
def test_a_line_on_its_way_is_not_asked_for_again(cut: dict[str, Any]) -> None:
    bench = Bench(**cut)
    bench.load(0, A)
    bench.load(3, A)
    bench.atomic(5, A)
    assert bench.run() == [MISS, MISS, MISS]
    assert len(bench.asked) == 1
    assert (bench.count("misses"), bench.count("merged")) == (3, 2)


def test_a_bank_without_a_free_mshr_looks_nothing_up() -> None:
    bench = Bench(mshrs=1)
    bench.load(0, A)
    bench.load(1, B)
    bench.load(2, A)  # would merge, but is behind the other one
    first, second, third = bench.run()
    assert (first, second) == (MISS, MISS + MISS)
    assert third == MISS + 1 + HIT  # the bank looks up one a cycle
    assert bench.count("stalls") == 1


def test_an_mshr_without_room_is_waited_for() -> None:
    bench = Bench(mshr_merge=1)
    bench.load(0, A)
    bench.load(1, A)
    assert bench.run() == [MISS, MISS + HIT]
    assert (bench.count("merged"), bench.count("stalls")) == (0, 1)


def test_a_full_channel_is_waited_for() -> None:
    bench = Bench(dram_from=500, dram_depth=1)
    bench.load(0, A)
    bench.load(1, B)
    bench.load(2, A)
    assert bench.run() == [500 + DRAM, 500 + MISS, 500 + DRAM]
    assert [asked[0] for asked in bench.asked] == [500, 500 + LATENCY]


def test_a_bank_answers_only_when_the_way_back_has_room() -> None:
    bench = Bench(replies_from=500, reply_depth=1)
    for cycle, address in ((0, A), (200, A), (201, A)):
        bench.load(cycle, address)
    assert bench.run() == [500, 500 + HIT, 500 + HIT + HIT]


def test_a_bank_looks_up_as_many_as_it_has_ports() -> None:
    for ports, last in ((1, 2), (2, 1), (3, 0)):
        bench = Bench(ports=ports)
        bench.load(0, A)
        for _ in range(3):
            bench.load(200, A)
        assert max(bench.run()) == 200 + HIT + last


@pytest.mark.parametrize(("order", "first"), [("first", "walk"), ("in-order", "load")])
def test_page_table_reads_have_a_port_of_their_own(order: str, first: str) -> None:
    """Two loads come in one cycle, and a read in the next one, when one load still waits."""
    bench = Bench(page_table_reads=order)
    bench.load(0, A)
    bench.load(200, A)
    bench.load(200, A)
    bench.walk(201, A)
    _, _, load, walk = bench.run()
    assert (load, walk) == ((212, 211) if first == "walk" else (211, 212))
    assert (bench.count("translation_lookups"), bench.count("translation_hits")) == (1, 1)


def test_a_page_table_read_that_misses_is_fetched() -> None:
    bench = Bench(**sectored())
    bench.walk(0, A + 64, depth=2)
    assert bench.run() == [MISS]
    assert bench.asked == [(LATENCY, WALK, A, 0b0100)]


def test_a_dirty_victim_is_written_back_and_a_clean_one_is_not() -> None:
    bench = Bench()
    bench.store(0, A)  # fetches its line
    bench.load(200, B)
    bench.load(400, C)  # takes the place of A
    bench.load(600, A)  # of B, which is clean
    assert bench.run() == [MISS, 200 + MISS, 400 + MISS, 600 + MISS]
    writes = [asked for asked in bench.asked if asked[1] == WRITEBACK]
    assert writes == [(400 + MISS, WRITEBACK, A, 0b1111)]
    assert bench.count("writebacks") == 1


def test_sectors_are_fetched_when_they_are_missed() -> None:
    bench = Bench(**sectored())
    bench.load(0, A, 0b0001)
    bench.load(200, A, 0b0011)
    bench.load(400, A, 0b0011)
    assert bench.run() == [MISS, 200 + MISS, 400 + HIT]
    assert [asked[3] for asked in bench.asked] == [0b0001, 0b0010]


def test_a_load_waits_for_the_last_of_its_sectors() -> None:
    bench = Bench(**sectored())
    bench.load(0, A, 0b0001)
    bench.load(5, A, 0b0011)
    bench.load(6, A, 0b0001)
    assert bench.run() == [MISS, 5 + MISS, MISS]
    assert [asked[3] for asked in bench.asked] == [0b0001, 0b0010]
    assert bench.count("merged") == 1


def test_stores_fetch_nothing_and_a_load_fetches_what_they_wrote_in_part() -> None:
    bench = Bench(**sectored())
    bench.store(0, A, 0b0001)
    bench.load(100, A, 0b0001)
    bench.store(200, A, 0b0010, covered=0)
    bench.load(300, A, 0b0011)
    assert bench.run() == [HIT, 100 + HIT, 200 + HIT, 300 + MISS]
    assert [asked[3] for asked in bench.asked] == [0b0010]
    assert bench.count("claimed") == 2


def test_dirty_sectors_alone_are_written_back() -> None:
    bench = Bench(**sectored())
    bench.load(0, A, 0b0001)
    bench.store(200, A, 0b0010)
    for cycle, line in ((300, B), (500, C)):
        bench.load(cycle, line)
    bench.run()
    assert bench.asked[-1] == (500 + MISS, WRITEBACK, A, 0b0010)
    assert bench.count("sectors_written_back") == 1


def test_a_bank_with_dirty_lines_that_wait_for_dram_takes_no_store_that_needs_room() -> None:
    """The port of DRAM has one place; 8 lines wait beside it before stores wait, too."""
    bench = Bench(dram_from=1000, dram_depth=1, **sectored())
    lines = [SETS * LINE * number for number in range(12)]
    for number, line in enumerate(lines):  # the third and later ones evict a dirty line each
        bench.store(20 * number, line)
    answered = bench.run()
    assert answered[:11] == [20 * number + HIT for number in range(11)]
    assert answered[11] == 1000 + HIT
    assert bench.count("writebacks") == 10


# -- virtual names -------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", CUTS)
def test_a_virtual_miss_is_translated_and_a_hit_is_not(cut: dict[str, Any]) -> None:
    bench = VirtualBench(**cut)
    bench.load(0, A)
    bench.load(300, A)
    assert bench.run() == [LATENCY + TRIP + DRAM, 300 + HIT]
    assert bench.translated == [0]
    assert bench.asked == [(LATENCY + TRIP, LOAD, 1000 * LINE, 0b1111)]
    assert bench.told == [("filled", 0), ("finished", 0)]


def test_a_virtual_store_is_translated_and_fetches_nothing() -> None:
    bench = VirtualBench(**sectored())
    bench.store(0, A, 0b0001)
    bench.store(100, A, 0b0010)  # its line is there
    bench.load(200, A, 0b0001)
    bench.load(300, A, 0b1111)
    through = LATENCY + TRIP
    assert bench.run() == [through + HIT, 100 + HIT, 200 + HIT, 300 + through + DRAM]
    assert bench.translated == [0, 0]
    assert [asked[3] for asked in bench.asked] == [0b1100]
    assert (bench.count("claimed"), bench.count("claimed_in_place")) == (2, 1)
    told = ["wrote", "filled", "finished", "finished"]
    assert [what for what, _ in bench.told] == told


def test_what_merges_with_a_virtual_miss_is_fetched_with_it() -> None:
    bench = VirtualBench(**sectored())
    bench.load(0, A, 0b0001)
    bench.load(5, A, 0b0010)  # before the first one is let through
    assert bench.run() == [LATENCY + TRIP + DRAM] * 2
    assert [asked[3] for asked in bench.asked] == [0b0011]


def test_what_comes_after_that_waits_for_the_fetch() -> None:
    bench = VirtualBench(**sectored())
    bench.load(0, A, 0b0001)
    bench.load(30, A, 0b0010)
    first = LATENCY + TRIP + DRAM
    assert bench.run() == [first, first + first]
    assert [asked[3] for asked in bench.asked] == [0b0001, 0b0010]


def test_a_dirty_virtual_victim_goes_to_the_table() -> None:
    bench = VirtualBench(**sectored())
    bench.store(0, A, 0b0010)
    bench.load(200, B)
    bench.load(400, C)
    bench.run()
    assert ("evicted 0010", 0) in bench.told
    assert bench.count("sectors_written_back") == 1
