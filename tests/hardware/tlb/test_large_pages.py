"""Large pages in TLB arrays: one entry for all of them, or the small page that was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.hardware.tlb import IdealArray, SetAssociativeArray, TlbArray

PAGES = 64
"""Small pages of an address space; large ones of 4 and 16 lie in it."""


def size_at(vpn: int) -> int:
    """Pages of a few sizes side by side: 16 of one, 4 of four, one of 16, then the same again."""
    return (1, 4, 16, 16)[vpn // 16 % 4]


def world() -> dict[int, Mapping]:
    """By tag: what covers each small page of two address spaces."""
    found: dict[int, Mapping] = {}
    for asid in range(2):
        for vpn in range(PAGES):
            pages, base = size_at(vpn), asid << ASID_SHIFT
            first = base + vpn - vpn % pages
            if first not in found:
                found[first] = Mapping(first, 8192 * asid + 48 * vpn, pages)
            found[base + vpn] = found[first]
    return found


class Naive:
    """Sets of mappings, least recently used first; a page chooses by its number in its size."""

    def __init__(self, config: TlbConfig) -> None:
        self.ways = config.ways
        self.sets: list[list[Mapping]] = [[] for _ in range(config.entries // config.ways)]

    def set_of(self, mapping: Mapping) -> list[Mapping]:
        return self.sets[mapping.tag // mapping.pages % len(self.sets)]

    def lookup(self, tag: int) -> Mapping | None:
        for one in self.sets:
            for mapping in one:
                if mapping.covers(tag):
                    one.remove(mapping)
                    one.append(mapping)
                    return mapping
        return None

    def insert(self, mapping: Mapping) -> int:
        one = self.set_of(mapping)
        there = mapping in one
        if there:
            one.remove(mapping)
        evicted = len(one) == self.ways
        del one[:evicted]
        one.append(mapping)
        return int(evicted)

    def invalidate(self, tag: int) -> bool:
        before = sum(map(len, self.sets))
        for one in self.sets:
            one[:] = [mapping for mapping in one if not mapping.covers(tag)]
        return sum(map(len, self.sets)) < before


tags = st.builds(
    lambda asid, vpn: asid << ASID_SHIFT | vpn,
    st.sampled_from([0, 0, 1]),
    st.integers(0, PAGES - 1),
)
calls = st.lists(
    st.tuples(st.sampled_from(["lookup"] * 5 + ["insert"] * 5 + ["invalidate", "flush"]), tags),
    min_size=20,
    max_size=120,
)


@given(st.sampled_from([1, 2, 4]), st.integers(1, 3), calls)
def test_an_entry_of_plain_sets_maps_a_page_of_any_size(sets: int, ways: int, calls: Any) -> None:
    config = TlbConfig("gpu", sets * ways, ways)
    array, naive, pages = SetAssociativeArray(config), Naive(config), world()
    for what, tag in calls:
        if what == "lookup":
            assert array.lookup(tag, 0) is naive.lookup(tag)
        elif what == "insert":
            assert array.insert(tag, pages[tag], 0) == naive.insert(pages[tag])
        elif what == "invalidate":
            assert array.invalidate(tag) == naive.invalidate(tag)
        else:
            array.flush()
            naive = Naive(config)
        held = [mapping for one in naive.sets for mapping in one]
        assert len(held) <= config.entries
        index = tag // pages[tag].pages % sets
        assert array.beside(tag, pages[tag].pages) is not None
        assert set(array.beside(tag, pages[tag].pages) or ()) == {
            mapping.tag for mapping in naive.sets[index]
        }


def test_one_entry_reaches_over_a_whole_large_page() -> None:
    array = SetAssociativeArray(TlbConfig("gpu", 4, 4))
    huge = [Mapping(512 * number, 512 * number, 512) for number in range(4)]
    assert [array.insert(512 * n + 7 * n, one, 0) for n, one in enumerate(huge)] == [0] * 4
    assert all(array.lookup(vpn, 0) is huge[vpn // 512] for vpn in range(2048))
    assert array.lookup(2048, 0) is None
    assert array.insert(5000, Mapping(5000, 1), 0) == 1, "the page used longest ago goes as a whole"
    assert [array.lookup(vpn, 0) for vpn in (0, 511)] == [None, None]


def test_any_page_of_it_takes_all_of_it_away() -> None:
    array = SetAssociativeArray(TlbConfig("gpu", 4, 2))
    for gone in (0, 200, 511):
        array.insert(300, Mapping(0, 0, 512), 0)
        assert array.invalidate(gone)
        assert not array.invalidate(gone)
        assert [array.lookup(vpn, 0) for vpn in (0, 300, 511)] == [None] * 3


def test_pages_before_and_after_a_promotion_do_not_mix() -> None:
    """What a shootdown of all small pages leaves is nothing; then one entry serves them."""
    array = SetAssociativeArray(TlbConfig("gpu", 32, 32))
    small = [Mapping(vpn, 64 + vpn) for vpn in range(16)]
    for vpn, mapping in enumerate(small):
        array.insert(vpn, mapping, 0)
    for vpn in range(16):
        array.invalidate(vpn)
    large = Mapping(0, 64, 16)
    array.insert(5, large, 0)
    assert {array.lookup(vpn, 0) for vpn in range(16)} == {large}
    assert array.beside(0, 16) == (0,)


# -- arrays that keep small pages only ------------------------------------------------------------

SPLINTERED: dict[str, tuple[TlbConfig, dict[str, Any]]] = {
    "sub-entry": (TlbConfig("sm", 8, 4, sub_entries=4), {}),
    "sub-entry-groups": (TlbConfig("sm", 8, 4, sub_entries=4), {"groups": 2}),
    "star": (TlbConfig("sm", 8, 4, sub_entries=4), {}),
    "cluster": (TlbConfig("sm", 8, 4, sub_entries=4), {}),
    "base-delta": (TlbConfig("sm", 8, 4, sets=PolicyConfig("base-delta")), {}),
    "tb-partitioned": (TlbConfig("sm", 8, 4), {}),
    "tb-partitioned-shared": (TlbConfig("sm", 8, 4), {}),
    "static-ways": (TlbConfig("sm", 8, 4, sub_entries=4), {"ways_of": "2/2"}),
}
"""By name: its table and the options of the array."""


def made(name: str) -> TlbArray:
    config, options = SPLINTERED[name]
    array = "set-associative" if name == "base-delta" else name
    found: TlbArray = make_policy(Slot.TLB_ARRAY, PolicyConfig(array, options), config)
    return found


@pytest.mark.parametrize("name", SPLINTERED)
def test_it_says_so(name: str) -> None:
    assert made(name).traits().large_pages == "splintered"


def test_these_say_otherwise() -> None:
    config = TlbConfig("sm", 8, 4)
    assert SetAssociativeArray(config).traits().large_pages == "whole"
    assert IdealArray(lambda asid, vpn: Mapping(vpn, vpn)).traits().large_pages == "whole"
    dealt: TlbArray = make_policy(
        Slot.TLB_ARRAY,
        PolicyConfig("static-ways", {"ways_of": "2/2", "of": "set-associative"}),
        config,
    )
    assert dealt.traits().large_pages == "whole"
    dealt.insert(1 << ASID_SHIFT | 9, mapping := Mapping(1 << ASID_SHIFT, 0, 16), 0)
    assert dealt.lookup(1 << ASID_SHIFT | 15, 0) is mapping
    assert dealt.lookup(15, 0) is None


@pytest.mark.parametrize("name", SPLINTERED)
def test_it_keeps_the_small_page_that_was_asked_for(name: str) -> None:
    array, large = made(name), Mapping(16, 160, 16)
    array.insert(18, large, 0)
    assert [vpn for vpn in range(48) if array.lookup(vpn, 0) is large] == [18]
    assert not array.invalidate(17)
    assert array.lookup(18, 0) is large
    array.insert(19, large, 0)
    assert [vpn for vpn in range(48) if array.lookup(vpn, 0) is large] == [18, 19]
    assert array.invalidate(18)
    assert [vpn for vpn in range(48) if array.lookup(vpn, 0)] == [19]
    array.flush()
    assert array.lookup(19, 0) is None


@pytest.mark.parametrize("name", SPLINTERED)
@given(calls)
def test_it_answers_with_what_covers_the_page_and_holds_no_more_than_it_can(
    name: str, calls: Any
) -> None:
    array, pages = made(name), world()
    config, _ = SPLINTERED[name]
    slots = config.entries * config.sub_entries * (1 + (name == "base-delta"))
    for what, tag in calls:
        if what == "insert":
            array.insert(tag, pages[tag], 0)
        elif what == "lookup":
            assert array.lookup(tag, 0) in (pages[tag], None)
        elif what == "invalidate":
            array.invalidate(tag)
            assert array.lookup(tag, 0) is None
        else:
            array.flush()
    assert sum(array.lookup(tag, 0) is not None for tag in pages) <= slots
    assert all(mapping.frame(tag) - mapping.pfn < mapping.pages for tag, mapping in pages.items())
    assert all(tag & VPN_MASK < PAGES for tag in pages)
