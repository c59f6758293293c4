"""The coalescing TLB against a list of runs of pages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.engine import Environment
from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.signals import SignalBoard
from gpusim.core.structures import Dimensions
from gpusim.hardware.tlb import ColtArray
from tests.examples import examples

GROUP = 4


class PageTable:
    """What is mapped now."""

    def __init__(self) -> None:
        self.now: dict[int, Mapping] = {}

    def find(self, tag: int) -> Mapping | None:
        return self.now.get(tag)


def array_of(sets: int, ways: int, table: PageTable, group: int = GROUP) -> ColtArray:
    array = ColtArray(TlbConfig("gpu", sets * ways, ways, sub_entries=group))
    array.attach(SignalBoard(Environment(), 1, table.find).at((0,)))
    return array


class Naive:
    """Entries in a list, least recently used first: group, distance, permission, pages."""

    def __init__(self, sets: int, ways: int, table: PageTable) -> None:
        self.sets, self.ways, self.table = sets, ways, table
        self.entries: list[tuple[tuple[int, int, bool], set[int]]] = []

    def key(self, page: int) -> tuple[int, int, bool] | None:
        found = self.table.now.get(page)
        return None if found is None else (page // GROUP, found.pfn - page, found.writable)

    def lookup(self, page: int) -> bool:
        for entry in self.entries:
            if page in entry[1]:
                self.entries.remove(entry)
                self.entries.append(entry)
                return True
        return False

    def insert(self, page: int) -> int:
        key = self.key(page)
        assert key is not None
        run = {page}
        while (least := min(run) - 1) // GROUP == key[0] and self.key(least) == key:
            run.add(least)
        while (most := max(run) + 1) // GROUP == key[0] and self.key(most) == key:
            run.add(most)
        evicted = 0
        old = [entry for entry in self.entries if entry[0] == key]
        beside = [entry for entry in self.entries if (entry[0][0] - key[0]) % self.sets == 0]
        if old:
            self.entries.remove(old[0])
            run |= old[0][1]
        elif len(beside) == self.ways:
            self.entries.remove(beside[0])
            evicted = 1
        self.entries.append((key, run))
        return evicted

    def invalidate(self, page: int) -> bool:
        found = [entry for entry in self.entries if page in entry[1]]
        for entry in found:
            entry[1].discard(page)
        self.entries = [entry for entry in self.entries if entry[1]]
        return bool(found)


calls = st.lists(
    st.tuples(
        st.sampled_from(["lookup"] * 6 + ["map"] * 3 + ["unmap", "protect", "flush"]),
        st.integers(0, 24),
        st.integers(0, 2),
    ),
    min_size=20,
    max_size=150,
)


@settings(max_examples=examples(200))
@given(st.sampled_from([1, 2, 4]), st.integers(1, 3), calls)
def test_against_a_list(sets: int, ways: int, calls: Any) -> None:
    """A page that is missed is walked; one that changes is forgotten first, as in a machine."""
    table = PageTable()
    array, naive = array_of(sets, ways, table), Naive(sets, ways, table)
    for what, page, where in calls:
        if what == "lookup":
            found = array.lookup(page, 0)
            assert (found is not None) == naive.lookup(page)
            if found is None and page in table.now:
                assert array.insert(page, table.now[page], 0) == naive.insert(page)
            else:
                assert found is table.now.get(page)
        elif what == "flush":
            array.flush()
            naive.entries.clear()
        else:
            assert array.invalidate(page) == naive.invalidate(page)
            if what == "unmap":
                table.now.pop(page, None)
            else:
                table.now[page] = Mapping(page, page + 100 * where, writable=what == "map")


def test_neighbours_come_in_with_a_page() -> None:
    table = PageTable()
    table.now |= {page: Mapping(page, page + 40) for page in (0, 1, 2, 4, 5, 6, 7)}
    table.now[6] = Mapping(6, 90)
    table.now[5] = Mapping(5, 45, writable=False)
    array = array_of(1, 2, table)
    array.insert(1, table.now[1], 0)
    array.insert(7, table.now[7], 0)
    there = [page for page in range(8) if array.lookup(page, 0) is not None]
    assert there == [0, 1, 2, 7], "3 is not mapped, 6 lies elsewhere, 5 has another permission"
    assert array.colt.coalesced == 2


def test_a_large_page_fills_a_group() -> None:
    table = PageTable()
    large = Mapping(0, 512, 512)
    table.now |= dict.fromkeys(range(512), large)
    array = array_of(1, 1, table)
    array.insert(9, large, 0)
    assert [page for page in range(512) if array.lookup(page, 0) is large] == [8, 9, 10, 11]


def test_an_entry_keeps_one_frame_and_a_bit_a_page() -> None:
    (entries,) = array_of(128, 4, PageTable()).storage(Dimensions(36, 21, 16, 16, 4))
    assert entries.fields == {"group of pages": 36 - 2 - 7, "valid bits": 4, "frame": 21}
    assert entries.count == 512


def test_a_group_lies_in_one_line_of_the_page_table() -> None:
    with pytest.raises(OptionError, match="sub_entries: must be at most 8"):
        array_of(1, 1, PageTable(), group=16)
