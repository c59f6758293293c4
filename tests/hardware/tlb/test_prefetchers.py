"""TLB prefetchers: what they predict, against plain lists, and their buffer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import StageConfig
from gpusim.core.engine import NeverFull
from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Purpose, Translation
from gpusim.core.stage import StageSite
from gpusim.core.unboxed import IntList
from gpusim.hardware.tlb import DistancePrefetcher, NextPagePrefetcher, StridePrefetcher
from gpusim.machine.mock_site import trial_site
from tests.examples import examples

PAGES = 40
"""That are mapped."""

misses = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=20, max_size=120)
"""Warps, and the pages that they miss, one after the other."""


class Sent(NeverFull):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.name = "sent"
        self.items: list[Translation] = []

    def send(self, item: Any, extra_cycles: int = 0) -> None:
        assert extra_cycles == 0
        self.items.append(item)


def site(below: Sent | None = None) -> StageSite:
    made = trial_site("prefetch", StageConfig(PolicyConfig("prefetch-next")))
    return attrs.evolve(made, below=below or Sent(), apps=2)


# -- predictions ---------------------------------------------------------------------------------


class RecentlyUsed:
    """Keys and rows in a list, the one used last at its end."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows: list[tuple[Any, Any]] = []

    def get(self, key: Any) -> Any:
        for row in self.rows:
            if row[0] == key:
                self.rows.remove(row)
                self.rows.append(row)
                return row[1]
        return None

    def put(self, key: Any, row: Any) -> None:
        self.rows = [one for one in self.rows if one[0] != key]
        self.rows = [*self.rows, (key, row)][-self.capacity :]


@settings(max_examples=examples(100))
@given(misses, st.integers(1, 4), st.integers(1, 3))
def test_strides_against_the_last_three_misses_of_a_warp(
    misses: list[tuple[int, int]], rows: int, degree: int
) -> None:
    prefetcher = StridePrefetcher(site(), rows=rows, degree=degree)
    naive = RecentlyUsed(rows)
    for warp, page in misses:
        seen = [*(naive.get(warp) or []), page][-3:]
        naive.put(warp, seen)
        expected = []
        if len(seen) == 3 and seen[2] - seen[1] == seen[1] - seen[0] != 0:
            expected = [page + (seen[2] - seen[1]) * step for step in range(1, degree + 1)]
        assert list(prefetcher.predicted(page, (0, 0, warp))) == expected


@settings(max_examples=examples(100))
@given(misses, st.integers(1, 4), st.integers(1, 3), st.integers(1, 4))
def test_distances_against_lists(
    misses: list[tuple[int, int]], rows: int, slots: int, warps: int
) -> None:
    prefetcher = DistancePrefetcher(site(), rows=rows, slots=slots, warps=warps)
    last, table = RecentlyUsed(warps), RecentlyUsed(rows)
    for warp, page in misses:
        seen = [*(last.get(warp) or []), page][-3:]
        last.put(warp, seen)
        expected = []
        if len(seen) > 1 and (now := seen[-1] - seen[-2]):
            expected = [page + one for one in table.get(now) or []]
            if len(seen) == 3 and (before := seen[1] - seen[0]):
                others = [one for one in table.get(before) or [] if one != now]
                table.put(before, [now, *others][:slots])
        assert list(prefetcher.predicted(page, (0, 0, warp))) == expected


def test_a_warp_on_another_sm_or_of_another_application_is_another_one() -> None:
    prefetcher = StridePrefetcher(site())
    for page in (0, 5):
        for stream in ((0, 0, 7), (0, 1, 7), (1, 0, 7)):
            assert list(prefetcher.predicted(page, stream)) == []
    assert list(prefetcher.predicted(10, (0, 1, 7))) == [15]
    assert list(prefetcher.predicted(11, (1, 0, 7))) == []


def test_a_pattern_of_distances_is_known_when_it_comes_again() -> None:
    prefetcher = DistancePrefetcher(site())
    walked = [0, 1, 3, 4, 6, 7]
    assert [list(prefetcher.predicted(page, (0, 0, 0))) for page in walked] == [
        [],
        [],
        [],
        [6],
        [7],
        [9],
    ]


# -- the buffer ----------------------------------------------------------------------------------


class NaiveBuffer:
    """Pages that have come, and pages under way with whether what comes is true."""

    def __init__(self, entries: int, degree: int) -> None:
        self.entries, self.degree = entries, degree
        self.there: list[int] = []
        self.under_way: list[list[Any]] = []
        self.unused = 0

    def ask(self, page: int) -> tuple[bool, list[int]]:
        hit = page in self.there
        if hit:
            self.there.remove(page)
        asked = []
        for ahead in range(page + 1, page + 1 + self.degree):
            busy = [one for one, _ in self.under_way]
            if ahead < PAGES and ahead not in self.there + busy and len(busy) < self.entries:
                self.under_way.append([ahead, True])
                asked.append(ahead)
        return hit, asked

    def come(self, number: int) -> None:
        page, good = self.under_way.pop(number)
        if good:
            self.there.append(page)
        if len(self.there) > self.entries:
            self.there.pop(0)
            self.unused += 1

    def forget(self, page: int) -> None:
        self.there = [one for one in self.there if one != page]
        for one in self.under_way:
            one[1] &= one[0] != page


steps = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "come", "come", "forget"]), st.integers(0, PAGES - 1)),
    min_size=20,
    max_size=150,
)


@settings(max_examples=examples(100))
@given(steps, st.integers(1, 4), st.integers(1, 3))
def test_the_buffer_against_lists(steps: Any, entries: int, degree: int) -> None:
    below, above = Sent(), Sent()
    prefetcher = NextPagePrefetcher(site(below), entries=entries, degree=degree)
    pages: Any = prefetcher.pages
    for page in range(PAGES):
        pages.remap(page)
    naive = NaiveBuffer(entries, degree)
    under_way: list[Translation] = []
    hits = 0
    for what, number in steps:
        if what == "ask":
            hit, asked = naive.ask(number)
            hits += hit
            wanted = Translation(0, 0, 0, number, 0, 0, IntList([0, 0]))
            wanted.return_to(above)
            assert prefetcher.asked(wanted)
            prefetches = [one for one in below.items if one.kind == Purpose.PREFETCH]
            assert [one.tag for one in prefetches] == asked
            assert (wanted in above.items, wanted in below.items) == (hit, not hit)
            assert not hit or wanted.mapping is pages.find(number)
            under_way += prefetches
            below.items.clear()
        elif what == "come" and under_way:
            index = number % len(under_way)
            naive.come(index)
            come = under_way.pop(index)
            come.way_back()
            come.mapping = pages.find(come.tag)
            prefetcher.answered(come)
        elif what == "forget":
            naive.forget(number)
            pages.remap(number)
            prefetcher.shoot_down(number)
    counters: Any = prefetcher.own_counters(0)[0]
    assert (counters.buffer_hits, counters.unused) == (hits, naive.unused)


def test_all_pages_may_be_forgotten() -> None:
    below = Sent()
    prefetcher = NextPagePrefetcher(site(below))
    pages: Any = prefetcher.pages
    for page in range(8):
        pages.remap(page)

    def ask(page: int) -> Translation:
        wanted = Translation(0, 0, 0, page, 0, 0, IntList([0, 0]))
        wanted.return_to(Sent())
        prefetcher.asked(wanted)
        return wanted

    def come(one: Translation) -> None:
        one.way_back()
        one.mapping = pages.find(one.tag)
        prefetcher.answered(one)

    ask(0)
    ask(4)
    there, under_way = (one for one in below.items if one.kind == Purpose.PREFETCH)
    assert (there.tag, under_way.tag) == (1, 5)
    come(there)
    prefetcher.shoot_down(None)
    come(under_way)
    below.items.clear()
    assert {ask(1), ask(5)} <= set(below.items)


@pytest.mark.parametrize("option", ["entries", "degree"])
def test_options_that_cannot_be(option: str) -> None:
    options: dict[str, Any] = {option: 0}
    with pytest.raises(OptionError, match=f"{option}: must be 1 or more"):
        StridePrefetcher(site(), **options)
