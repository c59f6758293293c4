"""Page-table walkers between mock neighbours: queue, costs of a walk, walk caches, changed pages.

A fixed walk takes 100 cycles, a level 10, a read of the mock memory 30.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpusim.config.translation import WalkCacheConfig
from gpusim.core.errors import UserError
from gpusim.core.states import State
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.walk import Walk, WalkOrder
from tests.hardware.mocks import at
from tests.hardware.walk.walkers_bench import LEVELS, READ, Bench

WALK, LEVEL, PROBE = 100, 10, 2
A, B, C = 0x1000, 0x2001, 0x3002
"""Pages whose paths have only the upper two levels in common."""
NEXT, NEXT_LINE = A + 1, A + 8
"""Pages of A's leaf table: in the same line of 8 entries, and in the next one."""
FIXED: dict[str, Any] = {"cost": "fixed", "latency": cycles(WALK)}
PER_LEVEL: dict[str, Any] = {"cost": "per-level", "latency": cycles(LEVEL)}
READS: dict[str, Any] = {"cost": "memory"}


def upper_levels(kind: str = "levels") -> WalkCacheConfig:
    return WalkCacheConfig(kind, entries=16, latency=cycles(PROBE))


LINES = WalkCacheConfig("lines", size=Bytes(1024), line=Bytes(64), latency=cycles(PROBE))


# -- the queue -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("walkers", "ends"), [(1, [1, 2, 3]), (2, [1, 1, 2]), (3, [1, 1, 1])])
def test_as_many_walks_at_once_as_there_are_walkers(walkers: int, ends: list[int]) -> None:
    bench = Bench(walkers=walkers, **FIXED)
    for tag in (A, B, C):
        bench.ask(0, tag)
    expected = list(zip([WALK * end for end in ends], (A, B, C), strict=True))
    assert bench.run() == expected
    waited = sum(WALK * (end - 1) for end in ends)
    assert bench.counts("walks", "queue_cycles", "walk_cycles") == [3, waited, 3 * WALK]
    assert bench.walkers.whole.most_walks == walkers


def test_the_way_to_the_walkers_takes_its_trip() -> None:
    bench = Bench(walkers=1, trip=cycles(7), **FIXED)
    bench.ask(5, A)
    assert bench.run() == [(5 + 7 + WALK, A)]


def test_the_walk_that_has_waited_for_longest_begins() -> None:
    bench = Bench(walkers=1, **FIXED)
    for cycle, tag in ((0, A), (1, C), (2, B)):
        bench.ask(cycle, tag)
    assert bench.run() == [(WALK, A), (2 * WALK, C), (3 * WALK, B)]


class LastComeFirstServed(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return len(waiting) - 1


class NotThere(WalkOrder):
    def choose(self, waiting: Sequence[Walk], cycle: int) -> int:
        return len(waiting)


def test_the_walk_order_is_asked_when_a_walker_is_free() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.walkers.order = LastComeFirstServed()
    for cycle, tag in ((0, A), (1, B), (2, C)):
        bench.ask(cycle, tag)
    assert bench.run() == [(WALK, A), (2 * WALK, C), (3 * WALK, B)]


def test_an_order_that_chooses_what_does_not_wait_is_refused() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.walkers.order = NotThere()
    bench.ask(0, A)
    with pytest.raises(UserError, match="NotThere chose walk 1 of the 1 that wait"):
        bench.run()


def test_a_page_that_is_walked_is_not_walked_again() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.ask(0, A)
    bench.ask(1, B)
    bench.ask(50, A)  # A is under way
    bench.ask(60, B)  # B waits
    assert bench.run() == [(WALK, A), (WALK, A), (2 * WALK, B), (2 * WALK, B)]
    assert bench.counts("requests", "merged", "walks") == [4, 2, 2]


def test_walks_of_prefetches_are_counted_apart() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.ask(0, A, prefetch=True)
    bench.ask(10, A)
    bench.ask(20, B)
    assert bench.run() == [(WALK, A), (WALK, A), (2 * WALK, B)]
    names = ("requests", "merged", "walks", "walk_cycles")
    assert bench.prefetch_counts(*names) == [1, 0, 1, WALK]
    assert bench.counts(*names) == [2, 1, 1, WALK]


def test_the_trail_of_a_walk_says_how_long_it_waited() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.ask(0, A)
    bench.ask(1, B)
    bench.run()
    (_, (_, second)) = bench.requester.answers
    assert list(second.trail)[2:] == [int(State.WALKER), 1, int(State.WALK), WALK]


# -- a time for each level -------------------------------------------------------------------------


def test_each_level_takes_its_time() -> None:
    bench = Bench(walkers=1, **PER_LEVEL)
    bench.ask(0, A)
    assert bench.run() == [(LEVELS * LEVEL, A)]
    assert bench.counts("level_accesses", "cache_lookups") == [LEVELS, 0]


@pytest.mark.parametrize("kind", ["levels", "split", "paths"])
def test_a_cache_of_upper_levels_spares_them(kind: str) -> None:
    bench = Bench(walkers=1, cache=upper_levels(kind), **PER_LEVEL)
    bench.ask(0, A)
    bench.ask(100, NEXT)
    bench.ask(200, B)  # has the upper two levels in common with A
    assert bench.run() == [
        (PROBE + LEVELS * LEVEL, A),
        (100 + PROBE + LEVEL, NEXT),
        (200 + PROBE + 2 * LEVEL, B),
    ]
    assert bench.counts("cache_lookups", "cache_hits", "level_accesses") == [3, 2, LEVELS + 1 + 2]


def test_a_cache_of_lines_is_probed_at_each_level() -> None:
    bench = Bench(walkers=1, cache=LINES, **PER_LEVEL)
    bench.ask(0, A)
    bench.ask(100, NEXT)
    bench.ask(200, NEXT_LINE)
    probes = LEVELS * PROBE
    assert bench.run() == [
        (probes + LEVELS * LEVEL, A),
        (100 + probes, NEXT),
        (200 + probes + LEVEL, NEXT_LINE),
    ]
    assert bench.counts("cache_lookups", "cache_hits", "level_accesses") == [12, 7, 5]


# -- reads through memory --------------------------------------------------------------------------


def test_levels_are_read_one_after_the_other() -> None:
    bench = Bench(walkers=1, **READS)
    bench.ask(5, A)
    assert bench.run() == [(5 + LEVELS * READ, A)]
    assert bench.reads == [(5 + level * READ, A, level + 1) for level in range(LEVELS)]
    addresses = tuple(read.address for _, read in bench.memory.arrived)
    assert addresses == bench.table.walk(0, A).entries


def test_walks_read_side_by_side() -> None:
    bench = Bench(walkers=2, **READS)
    for tag in (A, B, C):
        bench.ask(0, tag)
    end = LEVELS * READ
    assert bench.run() == [(end, A), (end, B), (2 * end, C)]
    assert [cycle for cycle, tag, _ in bench.reads if tag == C] == [
        end + level * READ for level in range(LEVELS)
    ]


def test_a_cache_of_upper_levels_spares_reads() -> None:
    bench = Bench(walkers=1, cache=upper_levels(), **READS)
    bench.ask(0, A)
    bench.ask(200, NEXT)
    assert bench.run() == [(PROBE + LEVELS * READ, A), (200 + PROBE + READ, NEXT)]
    assert bench.reads[LEVELS:] == [(200 + PROBE, NEXT, LEVELS)]


def test_a_cache_of_lines_spares_reads_of_its_lines() -> None:
    bench = Bench(walkers=1, cache=LINES, **READS)
    bench.ask(0, A)
    bench.ask(200, NEXT_LINE)
    assert bench.run() == [
        (LEVELS * (PROBE + READ), A),
        (200 + LEVELS * PROBE + READ, NEXT_LINE),
    ]
    assert bench.reads[LEVELS:] == [(200 + LEVELS * PROBE, NEXT_LINE, LEVELS)]


def test_reads_wait_for_room_in_memory() -> None:
    bench = Bench(walkers=2, depth=1, opens=50, **READS)
    bench.ask(0, A)
    bench.ask(0, B)
    # The memory takes A's read in cycle 50, and B's, for which there is room then, in the same one.
    assert bench.run() == [(50 + LEVELS * READ, A), (50 + LEVELS * READ, B)]
    assert bench.reads[:3] == [(50, A, 1), (50, B, 1), (50 + READ, A, 2)]


# -- pages that change meanwhile -------------------------------------------------------------------


def test_a_page_that_moves_during_its_walk_is_found_where_it_is_then() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.table.on_demand = True
    bench.table.map(0, A, 7)
    at(bench.env, 50, lambda: bench.table.remap(0, A, 9))
    bench.ask(0, A)
    assert bench.run() == [(WALK, A)]
    assert bench.frames == [9]


def test_a_page_that_goes_during_its_walk_is_not_found() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.table.on_demand = True
    bench.table.map(0, A, 7)
    at(bench.env, 50, lambda: bench.table.unmap(0, A))
    bench.ask(0, A)
    bench.ask(60, A)
    assert bench.run() == [(WALK, A), (WALK, A)]
    assert bench.frames == [None, None]


def test_a_page_that_comes_during_its_walk_is_found() -> None:
    bench = Bench(walkers=1, **FIXED)
    bench.table.on_demand = True
    at(bench.env, 50, lambda: bench.table.map(0, A, 7))
    bench.ask(0, A)
    bench.ask(110, B)
    assert bench.run() == [(WALK, A), (110 + WALK, B)]
    assert bench.frames == [7, None]


@pytest.mark.parametrize(("page", "again"), [(A, [4]), (B, []), (None, [1, 2, 3, 4])])
def test_a_shoot_down_makes_the_lines_of_a_page_be_read_again(
    page: int | None, again: list[int]
) -> None:
    bench = Bench(walkers=1, cache=LINES, **READS)
    bench.ask(0, A)
    bench.ask(0, B)
    at(bench.env, 400, lambda: bench.walkers.shoot_down(page))
    bench.ask(500, NEXT)
    bench.run()
    assert [level for cycle, _, level in bench.reads if cycle >= 500] == again
