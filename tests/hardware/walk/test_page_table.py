"""The page table against a dict, and the layout of its entries in memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.hardware.walk import FirstTouchFrames, Memory, PageTable, ScatteredFrames
from tests.examples import examples

PAGES = {4 << 10: 4, 64 << 10: 4, 2 << 20: 3}
"""Levels by page size, of a tree of four levels."""
MEMORY = 1 << 30
REGION = MEMORY - MEMORY // 64
"""Where the tables begin."""


def make(page: int, levels: int = 4, scattered: bool = False) -> PageTable:
    frames = REGION // page
    allocator = ScatteredFrames(frames, 1) if scattered else FirstTouchFrames(frames, 1)
    return PageTable(page, levels, [Memory(page, MEMORY, allocator)] * 3)


vpns = st.one_of(
    st.integers(0, 40),
    st.integers(0, 3).map(lambda i: i << 9),
    st.integers(0, 3).map(lambda i: i << 18),
    st.integers(0, (1 << 27) - 1),
)
pages = st.tuples(st.integers(0, 2), vpns)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(PAGES)), st.booleans(), st.lists(pages, max_size=60))
def test_translations_are_those_of_a_dict(
    page: int, scattered: bool, asked: list[tuple[int, int]]
) -> None:
    table = make(page, scattered=scattered)
    naive: dict[tuple[int, int], int] = {}
    for key in asked:
        pfn = table.translate(*key)
        assert naive.setdefault(key, pfn) == pfn, "a translation never changes"
        assert 0 <= pfn < REGION // page
    assert len(set(naive.values())) == len(naive) == table.mapped_pages


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(PAGES)), st.integers(2, 5), st.lists(pages, max_size=40))
def test_entries_lie_apart_in_the_table_region(
    page: int, levels: int, asked: list[tuple[int, int]]
) -> None:
    table = make(page, levels)
    depth = levels - (page == 2 << 20)
    assert table.levels == depth
    seen: dict[tuple[int, int, int], int] = {}
    reach = 512**depth if page == 2 << 20 else 512**depth * 4096 // page
    for asid, vpn in asked:
        if vpn >= reach:
            continue
        path = table.walk(asid, vpn)
        assert len(path.entries) == len(path.prefixes) == depth
        assert path.prefixes[-1] == vpn
        for level, (entry, prefix) in enumerate(zip(path.entries, path.prefixes, strict=True)):
            assert REGION <= entry < MEMORY
            assert entry % 8 == 0
            assert seen.setdefault((asid, level, prefix), entry) == entry
    assert len(set(seen.values())) == len(seen), "two entries share an address"


def cut(vpn: int, page: int, levels: int) -> list[int]:
    """The prefix of a page number at each level, by dividing the address space level by level."""
    reach = page
    table = 2 << 20 if page < 2 << 20 else 1 << 30  # what one leaf table maps
    prefixes = []
    for _ in range(levels):
        prefixes.append(vpn * page // reach)
        reach, table = table, table * 512
    return prefixes[::-1]


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(PAGES)), st.integers(0, (1 << 27) - 1))
def test_prefixes_cut_the_address_space(page: int, vpn: int) -> None:
    path = make(page).walk(0, vpn)
    assert list(path.prefixes) == cut(vpn, page, PAGES[page])


@pytest.mark.parametrize(
    ("page", "leaf_pages", "stride"), [(4 << 10, 512, 8), (64 << 10, 32, 128), (2 << 20, 512, 8)]
)
def test_neighbouring_pages_have_neighbouring_leaf_entries(
    page: int, leaf_pages: int, stride: int
) -> None:
    table = PageTable(page, 4, [Memory(page, 2 * MEMORY, FirstTouchFrames(600, 0))])
    leaves = [table.walk(0, vpn).entries[-1] for vpn in range(leaf_pages + 1)]
    assert leaves[:-1] == [leaves[0] + stride * i for i in range(leaf_pages)]
    assert leaves[0] % 4096 == 0
    assert not leaves[0] <= leaves[-1] < leaves[0] + 4096, "the next one lies in another table"


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(sorted(PAGES)), st.lists(vpns, min_size=1, max_size=20, unique=True))
def test_two_address_spaces_share_nothing(page: int, asked: list[int]) -> None:
    table = make(page)
    mine: set[Any] = set()
    yours: set[Any] = set()
    for vpn in asked:
        for asid, kept in ((0, mine), (1, yours)):
            path = table.walk(asid, vpn)
            kept |= {("frame", path.pfn), *(entry // 4096 for entry in path.entries)}
    assert not mine & yours


def test_memory_without_room_for_tables_is_refused() -> None:
    memory = 64 << 10
    frames = FirstTouchFrames(memory // 4096 - 5, 0)
    table = PageTable(4096, 4, [Memory(4096, memory, frames)])
    table.walk(0, 0)
    table.walk(0, 1)  # in the same tables
    table.walk(0, 512)  # one leaf table more, and the region is full
    with pytest.raises(UserError, match=r"no room for page tables; raise memory\.size"):
        table.walk(0, 1024)


def sparse(page: int) -> PageTable:
    allocator = FirstTouchFrames(REGION // page // 2, 1)
    return PageTable(page, 4, [Memory(page, MEMORY, allocator)] * 3, table_entries=32)


def test_entries_of_sparse_tables_are_a_line_apart() -> None:
    table = sparse(4 << 10)
    paths = [table.walk(0, vpn).entries for vpn in range(64)]
    leaves = [path[-1] for path in paths]
    assert leaves[:32] == [leaves[0] + 128 * number for number in range(32)]
    assert leaves[32:] == [leaves[32] + 128 * number for number in range(32)]
    assert {leaf // 4096 for leaf in leaves[:32]} == {leaves[0] // 4096}
    assert leaves[32] // 4096 != leaves[0] // 4096, "the next 128 KiB have a table of their own"
    assert [path[2] for path in paths[:32]] == [paths[0][2]] * 32
    assert paths[32][2] == paths[0][2] + 128, "whose entry follows, in one table of the level above"
    assert len({path[:2] for path in paths}) == 1, "the upper levels reach 4 and 128 MiB"


def test_sparse_tables_have_a_root_for_each_four_gibibytes() -> None:
    table = sparse(4 << 10)
    first, neighbour, beyond = (table.walk(0, vpn).entries[0] for vpn in (0, 1 << 15, 1 << 20))
    assert neighbour == first + 128
    assert beyond // 4096 != first // 4096
    with pytest.raises(UserError, match="lies beyond the 36 bits of page number"):
        table.walk(0, 1 << 36)


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(sorted(PAGES)), st.lists(pages, min_size=1, max_size=30, unique=True))
def test_sparse_tables_are_a_tree(page: int, asked: list[tuple[int, int]]) -> None:
    table = sparse(page)
    assert table.levels == PAGES[page]
    seen: dict[tuple[int, int, int], int] = {}
    for asid, vpn in asked:
        path = table.walk(asid, vpn)
        assert len(path.entries) == PAGES[page]
        small = vpn * page >> 12
        for level, entry in enumerate(path.entries):
            covers = 32 ** (3 - level)  # 4 KiB pages that an entry maps
            assert seen.setdefault((asid, level, small // covers), entry) == entry
            assert entry % 128 == 0
            assert entry // 128 % 32 == small // covers % 32
    assert len(set(seen.values())) == len(seen), "two entries share a line"
