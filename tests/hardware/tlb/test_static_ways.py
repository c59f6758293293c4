"""Ways dealt out to applications, and ways compared in groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.engine import Environment
from gpusim.core.errors import OptionError, UserError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.signals import SignalBoard
from gpusim.hardware.tlb import (
    GroupedSubEntryArray,
    SetAssociativeArray,
    StarArray,
    StaticWaysArray,
    SubEntryArray,
    TlbArray,
)
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered
from tests.hardware.tlb.test_star import PAPER

CONFIG = TlbConfig("gpu", 32, 8, sub_entries=4)
calls = st.lists(
    st.tuples(
        st.sampled_from(["insert"] * 5 + ["lookup"] * 5 + ["invalidate", "flush"]),
        st.integers(0, 2),
        st.integers(0, 150),
    ),
    min_size=20,
    max_size=150,
)


def call(array: Numbered, what: str, tag: int, pfn: int) -> Any:
    if what == "insert":
        return array.insert(tag, pfn, 0)
    if what == "lookup":
        return array.lookup(tag, 0), array.extra_cycles, array.pipelined_cycles
    return array.invalidate(tag) if what == "invalidate" else array.flush()


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(["sub-entry", "star", "sub-entry-groups"]), calls)
def test_each_application_has_a_tlb_of_its_own(of: str, calls: Any) -> None:
    classes: dict[str, type[TlbArray]] = {
        "sub-entry": SubEntryArray,
        "star": StarArray,
        "sub-entry-groups": GroupedSubEntryArray,
    }
    ways = (4, 2, 2)
    array = Numbered(StaticWaysArray(CONFIG, ways_of="4/2/2", of=of))
    make: Any = classes[of]
    own = [Numbered(make(TlbConfig("gpu", 4 * number, number, sub_entries=4))) for number in ways]
    for number, (what, asid, page) in enumerate(calls):
        if what == "flush":
            array.flush()
            for one in own:
                one.flush()
        else:
            tag = asid << ASID_SHIFT | page
            assert call(array, what, tag, number) == call(own[asid], what, tag, number)
    for asid, one in enumerate(own):
        assert array.counters_of(asid) == (*one.counters(), *one.counters_of(asid))
    assert array.counters() == ()


def test_ways_of_others_stay_as_they_are() -> None:
    config = TlbConfig("gpu", 8, 8)
    array = Numbered(StaticWaysArray(config, ways_of="4/2/2", of="set-associative"))
    for asid in range(3):
        for page in range(9):
            array.insert(asid << ASID_SHIFT | page, page, 0)
    found = [
        [page for page in range(9) if array.lookup(asid << ASID_SHIFT | page, 0) != NO_PAGE]
        for asid in range(3)
    ]
    assert found == [[5, 6, 7, 8], [7, 8], [7, 8]]


def equal(config: TlbConfig, apps: int) -> StaticWaysArray:
    array = StaticWaysArray(config, ways_of="equal")
    array.attach(SignalBoard(Environment(), apps, lambda _: None).at((0,)))
    return array


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 5), st.sampled_from([(6, 1), (8, 4), (5, 1)]), calls)
def test_equal_parts_are_tlbs_of_each_application(
    apps: int, shape: tuple[int, int], calls: Any
) -> None:
    """Application *i* of *n* has the ways from *iW/n* up to (*i*+1)*W/n*, rounded down."""
    ways, pages = shape
    array = Numbered(equal(TlbConfig("gpu", 4 * ways, ways, sub_entries=pages), apps))
    kind: Any = SetAssociativeArray if pages == 1 else SubEntryArray
    ends = [sum(1 for way in range(1, ways + 1) if way * apps <= i * ways) for i in range(apps + 1)]
    own = []
    for begin, end in pairwise(ends):
        config = TlbConfig("gpu", 4 * (end - begin), end - begin, sub_entries=pages)
        own.append(Numbered(kind(config)))
    for number, (what, asid, page) in enumerate(calls):
        if what != "flush":
            tag = asid % apps << ASID_SHIFT | page
            assert call(array, what, tag, number) == call(own[asid % apps], what, tag, number)


def test_more_applications_than_ways() -> None:
    with pytest.raises(UserError, match=r'"equal": 8 ways of a TLB cannot .* to 9 applications'):
        equal(CONFIG, 9)


def test_a_large_page_has_one_entry_in_plain_sets() -> None:
    assert equal(TlbConfig("gpu", 8, 8), 2).traits().large_pages == "whole"
    assert equal(CONFIG, 2).traits().large_pages == "splintered"


def test_a_partition_keeps_the_bits_of_the_whole() -> None:
    config = TlbConfig("gpu", 1024, 8, sub_entries=16)
    for of, whole in (("sub-entry", SubEntryArray(config)), ("star", StarArray(config))):
        array = StaticWaysArray(config, ways_of="4/2/2", of=of)
        assert array.storage(PAPER) == whole.storage(PAPER)


@pytest.mark.parametrize(
    "ways_of", ["4/2", "8/0", "4/4/2", "4/2/2/", "4 2 2", "", "-4/12", "4/x/4"]
)
def test_ways_that_cannot_be(ways_of: str) -> None:
    with pytest.raises(OptionError, match=r'ways_of: .* add up to 8 ways, such as "7/1"'):
        StaticWaysArray(CONFIG, ways_of=ways_of)


def test_arrays_that_cannot_be_dealt_out() -> None:
    with pytest.raises(UserError, match="did you mean 'star'"):
        StaticWaysArray(CONFIG, ways_of="8", of="stars")
    with pytest.raises(OptionError, match="of: must be an array that pages index"):
        StaticWaysArray(TlbConfig("gpu", 8, 8), ways_of="4/4", of="tb-partitioned")


# -- ways compared in groups ---------------------------------------------------------------------


class SlowGroups:
    """Ways of all sets by number: base, pages, last use."""

    def __init__(self, sets: int, ways: int, size: int, groups: int) -> None:
        self.sets, self.ways, self.size, self.groups = sets, ways, size, groups
        self.flush()

    def flush(self) -> None:
        self.at: list[list[tuple[int, dict[int, int], int] | None]] = [
            [None] * self.ways for _ in range(self.sets)
        ]
        self.clock = 0

    def way(self, tag: int) -> tuple[list[Any], int]:
        ways = self.at[tag // self.size % self.sets]
        return ways, next((i for i, w in enumerate(ways) if w and w[0] == tag // self.size), -1)

    def lookup(self, tag: int) -> tuple[int, int, int]:
        self.clock += 1
        ways, way = self.way(tag)
        in_group = self.ways // self.groups
        extra = 10 * (way // in_group if way >= 0 else self.groups - 1)
        if way < 0 or tag not in ways[way][1]:
            return NO_PAGE, extra, extra
        ways[way] = (*ways[way][:2], self.clock)
        return ways[way][1][tag], extra, extra

    def insert(self, tag: int, pfn: int) -> int:
        self.clock += 1
        ways, way = self.way(tag)
        evicted = 0
        if way < 0:
            if None in ways:
                way = ways.index(None)
            else:
                way = min(range(self.ways), key=lambda i: ways[i][2])
                evicted = 1
            ways[way] = (tag // self.size, {}, 0)
        ways[way] = (ways[way][0], ways[way][1] | {tag: pfn}, self.clock)
        return evicted

    def invalidate(self, tag: int) -> bool:
        ways, way = self.way(tag)
        if way < 0 or ways[way][1].pop(tag, None) is None:
            return False
        if not ways[way][1]:
            ways[way] = None
        return True


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4]), calls)
def test_groups_against_ways_by_number(sets: int, groups: int, calls: Any) -> None:
    config = TlbConfig("gpu", 4 * sets, 4, sub_entries=4)
    array = Numbered(GroupedSubEntryArray(config, groups=groups))
    slow = SlowGroups(sets, 4, 4, groups)
    for number, (what, _, tag) in enumerate(calls):
        expected = {
            "insert": lambda t=tag, n=number: slow.insert(t, n),
            "lookup": lambda t=tag: slow.lookup(t),
            "invalidate": lambda t=tag: slow.invalidate(t),
            "flush": slow.flush,
        }[what]()
        assert call(array, what, tag, number) == expected


def test_the_group_that_holds_the_base_tells_the_cycles() -> None:
    config = TlbConfig("gpu", 4, 4, sub_entries=8)
    array = Numbered(GroupedSubEntryArray(config, hold_port=True))
    for base in range(4):
        array.insert(8 * base, base, 0)
    found = [call(array, "lookup", page, 0) for page in (0, 8, 16, 24, 32, 1, 17)]
    assert found == [
        (0, 0, 0),
        (1, 0, 0),
        (2, 10, 0),
        (3, 10, 0),
        (NO_PAGE, 10, 0),
        (NO_PAGE, 0, 0),  # its base is in the first group
        (NO_PAGE, 10, 0),
    ]


def test_groups_that_cannot_be() -> None:
    for groups in (0, 3):
        with pytest.raises(OptionError, match="groups"):
            GroupedSubEntryArray(CONFIG, groups=groups)


def test_half_sub_entries_have_twice_the_bases() -> None:
    # 41 bits of a page number, 3 of them tell the sub-entry, 8 or 7 the set.
    for ways, base in ((8, 30), (16, 31)):
        kept = SubEntryArray(TlbConfig("gpu", 2048, ways, sub_entries=8)).storage(PAPER)
        assert (kept[0].count, kept[0].entry_bits) == (2048, 2 + base + 8 * 52)
