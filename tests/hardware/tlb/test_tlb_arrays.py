"""TLB arrays against lists that are searched from end to end."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.hardware.tlb import IdealArray, SetAssociativeArray, SubEntryArray
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered


class NaiveTlb:
    """A list of entries a set, least recently used first: ``[base, {page: frame}]``."""

    def __init__(self, config: TlbConfig) -> None:
        self.ways = config.ways
        self.pages = config.sub_entries
        self.sets: list[list[tuple[int, dict[int, int]]]] = [
            [] for _ in range(config.entries // config.ways)
        ]

    def _find(self, tag: int) -> tuple[list[tuple[int, dict[int, int]]], int, int]:
        base = tag // self.pages
        entries = self.sets[self.index(base)]
        return entries, base, next((i for i, e in enumerate(entries) if e[0] == base), -1)

    def index(self, base: int) -> int:
        return base % len(self.sets)

    def lookup(self, tag: int) -> int:
        entries, _, at = self._find(tag)
        if at < 0 or tag not in entries[at][1]:
            return NO_PAGE
        entries.append(entries.pop(at))
        return entries[-1][1][tag]

    def insert(self, tag: int, pfn: int) -> int:
        entries, base, at = self._find(tag)
        evicted = 0
        if at >= 0:
            entries.append(entries.pop(at))
        else:
            if len(entries) == self.ways:
                entries.pop(0)
                evicted = 1
            entries.append((base, {}))
        entries[-1][1][tag] = pfn
        return evicted

    def invalidate(self, tag: int) -> bool:
        entries, _, at = self._find(tag)
        if at < 0 or tag not in entries[at][1]:
            return False
        del entries[at][1][tag]
        if not entries[at][1]:
            entries.pop(at)
        return True

    def flush(self) -> None:
        self.sets = [[] for _ in self.sets]


@st.composite
def configs(draw: Any, sub_entries: tuple[int, ...]) -> TlbConfig:
    ways = draw(st.integers(1, 4))
    sets = draw(st.sampled_from([1, 2, 4]))
    return TlbConfig(
        "sm", entries=ways * sets, ways=ways, sub_entries=draw(st.sampled_from(sub_entries))
    )


tags = st.builds(lambda asid, vpn: asid << ASID_SHIFT | vpn, st.integers(0, 2), st.integers(0, 40))
kinds = ["lookup"] * 5 + ["insert"] * 5 + ["invalidate", "flush"]


@st.composite
def calls_on_few_pages(draw: Any) -> list[tuple[str, int]]:
    """Calls on so few pages that they meet each other."""
    pages = draw(st.lists(tags, min_size=1, max_size=6, unique=True))
    return draw(
        st.lists(
            st.tuples(st.sampled_from(kinds), st.sampled_from(pages)), min_size=20, max_size=80
        )
    )


actions = calls_on_few_pages()


def play(array: Numbered | NaiveTlb, calls: list[tuple[str, int]]) -> list[Any]:
    """The outcome of every call; block slots must not matter."""
    outcomes: list[Any] = []
    slot = () if isinstance(array, NaiveTlb) else (7,)
    for number, (what, tag) in enumerate(calls):
        if what == "insert":
            outcomes.append(array.insert(tag, number, *slot))
        elif what == "lookup":
            outcomes.append(array.lookup(tag, *slot))
        elif what == "invalidate":
            outcomes.append(array.invalidate(tag))
        else:
            outcomes.append(array.flush())
    return outcomes


@settings(max_examples=examples(200), deadline=None)
@given(configs((1,)), actions)
def test_set_associative(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    assert play(Numbered(SetAssociativeArray(config)), calls) == play(NaiveTlb(config), calls)


@settings(max_examples=examples(200), deadline=None)
@given(configs((1, 2, 4, 16)), actions)
def test_sub_entries(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    assert play(Numbered(SubEntryArray(config)), calls) == play(NaiveTlb(config), calls)


@settings(max_examples=examples(60), deadline=None)
@given(configs((1,)), actions)
def test_one_sub_entry_is_no_sub_entry(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    plain = Numbered(SetAssociativeArray(config))
    assert play(Numbered(SubEntryArray(config)), calls) == play(plain, calls)


@pytest.mark.parametrize("array", [SetAssociativeArray, SubEntryArray])
def test_frame_zero_is_a_hit(array: Any) -> None:
    tlb = Numbered(array(TlbConfig("sm", entries=4, ways=2, sub_entries=1)))
    assert tlb.insert(3, 0, 0) == 0
    assert tlb.lookup(3, 0) == 0


@pytest.mark.parametrize("array", [SetAssociativeArray, SubEntryArray])
def test_a_hit_counts_as_a_use(array: Any) -> None:
    tlb = Numbered(array(TlbConfig("sm", entries=2, ways=2)))
    tlb.insert(10, 1, 0)
    tlb.insert(20, 2, 0)
    assert tlb.lookup(10, 0) == 1
    assert tlb.insert(30, 3, 0) == 1
    assert [tlb.lookup(page, 0) for page in (10, 20, 30)] == [1, NO_PAGE, 3]


def test_the_same_page_of_two_address_spaces_is_two_pages() -> None:
    tlb = Numbered(SetAssociativeArray(TlbConfig("sm", entries=4, ways=4)))
    tlb.insert(5, 10, 0)
    other = 1 << ASID_SHIFT | 5
    assert tlb.lookup(other, 0) == NO_PAGE
    tlb.insert(other, 20, 0)
    assert (tlb.lookup(5, 0), tlb.lookup(other, 0)) == (10, 20)


def test_a_sub_entry_array_reaches_as_far_as_its_pages() -> None:
    config = TlbConfig("sm", entries=4, ways=4, sub_entries=16)
    plain = Numbered(SetAssociativeArray(attrs.evolve(config, sub_entries=1)))
    dense = Numbered(SubEntryArray(config))
    assert sum(dense.insert(vpn, vpn, 0) for vpn in range(64)) == 0
    assert sum(plain.insert(vpn, vpn, 0) for vpn in range(64)) == 60
    assert all(dense.lookup(vpn, 0) == vpn for vpn in range(64))
    assert dense.insert(64, 64, 0) == 1  # one entry, and with it pages 0 to 15
    assert [dense.lookup(vpn, 0) for vpn in (0, 15, 16)] == [NO_PAGE, NO_PAGE, 16]


def test_an_ideal_array_asks_the_page_table() -> None:
    table = {(2, 17): Mapping(2 << ASID_SHIFT | 17, 2017), (0, 5): Mapping(5, 5)}
    array = IdealArray(lambda asid, vpn: table[asid, vpn])
    assert array.lookup(2 << ASID_SHIFT | 17, 0) is table[2, 17]
    assert array.insert(5, Mapping(5, 1), 0) == 0
    assert not array.invalidate(5)
    array.flush()
    assert array.lookup(5, 0) is table[0, 5]
