"""Sets chosen by an XOR-fold: against a list that takes every bit by itself; reach; refusals."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.hardware.tlb import make_array
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered
from tests.hardware.tlb.test_tlb_arrays import NaiveTlb, kinds, play

DENSE = PolicyConfig("sub-entry")


class NaiveHashed(NaiveTlb):
    """Bit *i* of the index is the parity of bits *i*, *i + n*, *i + 2n* … of the base."""

    def index(self, base: int) -> int:
        bits = len(self.sets).bit_length() - 1
        name = f"{base % ((VPN_MASK + 1) // self.pages):052b}"[::-1]
        return sum((name[i::bits].count("1") % 2) << i for i in range(bits))


@st.composite
def tables(draw: Any, sub_entries: tuple[int, ...], array: PolicyConfig) -> TlbConfig:
    ways = draw(st.integers(1, 3))
    sets = draw(st.sampled_from([2, 4, 8]))
    return TlbConfig(
        "sm",
        entries=ways * sets,
        ways=ways,
        sub_entries=draw(st.sampled_from(sub_entries)),
        array=array,
        hash="xor",
    )


def _page(asid: int, low: int, middle: int, high: int) -> int:
    return asid << ASID_SHIFT | high << 32 | middle << 9 | low


tags = st.builds(_page, st.integers(0, 1), st.integers(0, 12), st.integers(0, 3), st.integers(0, 2))


def test_two_slices_are_those_of_an_a100() -> None:
    """TunneLs Table 1: set index bit *i* is the XOR of VA bits 25 + i, 33 + i and 41 + i.

    Of the ranges k << 8 | k, set 0, whose slice is 0, holds as many as it has ways; one more it
    does not.  Of 9 bits, they would be in sets of their own.
    """
    config = gpusim.load_model("a100").config.tlb["L3"]
    array = make_array(config)
    bases = [k << 8 | k for k in range(config.ways + 1)]
    others = [(k << 8 | k) ^ 1 for k in range(config.ways)]  # set 1, slice 1
    kept = {base << 4: Mapping(base << 4, base) for base in (*others, *bases)}
    assert sum(array.insert(tag, one, 0) for tag, one in kept.items()) == 1
    found = {tag: array.lookup(tag, 0) for tag in kept}
    assert found == {**kept, bases[0] << 4: None}
    assert array.invalidate(bases[1] << 4)
    assert not array.invalidate(bases[1] << 4)
    one_more = attrs.evolve(config, hash="xor")
    assert sum(make_array(one_more).insert(tag, one, 0) for tag, one in kept.items()) == 0


def test_slices_would_part_a_large_page() -> None:
    config = TlbConfig("sm", 8, 2, hash="xor-slices")
    with pytest.raises(UserError, match="the slices would part a large page"):
        make_array(config)


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=40, unique=True))
def test_slices_by_naive_parities(bases: list[int]) -> None:
    """Sets of one way: the last range of each slice and set is there, and no other one."""
    config = TlbConfig("sm", 32, 1, sub_entries=4, array=DENSE, hash="xor-slices")
    array, last = make_array(config), {}
    for base in bases:
        bits = f"{base:032b}"[::-1]
        index = tuple(bits[i::4].count("1") % 2 for i in range(4))
        last[bits.count("1") % 2, index] = base
        array.insert(base << 2, Mapping(base << 2, 1), 0)
    assert {base for base in bases if array.lookup(base << 2, 0)} == set(last.values())


def test_slices_of_one_set_are_chosen_by_parity() -> None:
    array = make_array(TlbConfig("sm", 2, 1, sub_entries=4, array=DENSE, hash="xor-slices"))
    for base in (0b11, 0b111, 0b101):  # the last one takes the place of the first
        array.insert(base << 2, Mapping(base << 2, 1), 0)
    assert [array.lookup(base << 2, 0) is None for base in (0b11, 0b111, 0b101)] == [
        True,
        False,
        False,
    ]


@st.composite
def calls(draw: Any) -> list[tuple[str, int]]:
    """On so few pages, far from each other, that they meet in some sets."""
    pages = draw(st.lists(tags, min_size=2, max_size=8, unique=True))
    one = st.tuples(st.sampled_from(kinds), st.sampled_from(pages))
    return draw(st.lists(one, min_size=20, max_size=80))


@settings(max_examples=examples(150), deadline=None)
@given(tables((1,), PolicyConfig("set-associative")), calls())
def test_set_associative(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    assert play(Numbered(make_array(config)), calls) == play(NaiveHashed(config), calls)


@settings(max_examples=examples(150), deadline=None)
@given(tables((1, 2, 16), DENSE), calls())
def test_sub_entries(config: TlbConfig, calls: list[tuple[str, int]]) -> None:
    assert play(Numbered(make_array(config)), calls) == play(NaiveHashed(config), calls)


@pytest.mark.parametrize(
    ("name", "options"),
    [("sub-entry-groups", {}), ("star", {"bases": 1}), ("static-ways", {"ways_of": "1/2"})],
)
@settings(max_examples=examples(40), deadline=None)
@given(tables((4,), DENSE), calls())
def test_what_is_made_of_sub_entries(
    name: str, options: dict[str, Any], config: TlbConfig, calls: list[tuple[str, int]]
) -> None:
    """Such an array decides as one whose ways are those that the first application has."""
    calls = [(what, tag & VPN_MASK) for what, tag in calls]
    sets = config.entries // config.ways
    config = attrs.evolve(config, array=PolicyConfig(name, options))
    if name == "static-ways":
        naive = NaiveHashed(attrs.evolve(config, entries=sets, ways=1))
        config = attrs.evolve(config, entries=3 * sets, ways=3)
    else:
        config = attrs.evolve(config, entries=2 * sets, ways=2)
        naive = NaiveHashed(config)
    assert play(Numbered(make_array(config)), calls) == play(naive, calls)


def test_a_stride_that_meets_in_one_set_is_spread() -> None:
    """128 bases whose low 7 bits are equal: a set of 8 ways without the hash, all sets with it."""
    hashed = TlbConfig("gpc", 128 * 8, 8, sub_entries=16, array=DENSE, hash="xor")
    plain = attrs.evolve(hashed, hash=None)
    pages = [16 * 128 * number for number in range(128)]
    for config, kept in ((plain, 8), (hashed, 128)):
        array = Numbered(make_array(config))
        for page in pages:
            array.insert(page, page, 0)
        assert sum(array.lookup(page, 0) == page for page in pages) == kept


@pytest.mark.parametrize("first", [0, 5 << 11, (1 << 30) + 16 * 77])
def test_neighbours_fill_all_sets_wherever_they_begin(first: int) -> None:
    """256 sets × 8 ways × 16 pages of 2 MiB: an aligned range of 64 GiB evicts nothing."""
    array = make_array(TlbConfig("gpc", 256 * 8, 8, sub_entries=16, array=DENSE, hash="xor"))
    reach = 256 * 8 * 16
    assert reach * (2 << 20) == 64 << 30
    first -= first % reach
    pages = [Mapping(tag, tag) for tag in range(first, first + reach)]
    assert sum(array.insert(page.tag, page, 0) for page in pages) == 0
    assert all(array.lookup(page.tag, 0) is page for page in pages)


def test_pages_of_two_sizes_are_found_by_any_of_their_small_pages() -> None:
    config = TlbConfig("sm", entries=32, ways=4, hash="xor")
    array = make_array(config)
    assert array.traits().large_pages == "whole"
    large = Mapping(3 << 9, 7 << 9, 512)
    small = Mapping(4 << 9, 5)
    array.insert(large.tag + 130, large, 0)
    array.insert(small.tag, small, 0)
    assert all(array.lookup(large.tag + offset, 0) is large for offset in range(512))
    assert array.lookup(small.tag, 0) is small
    assert array.invalidate(large.tag + 400)
    assert array.lookup(large.tag, 0) is None


def test_its_address_space_is_still_told() -> None:
    """Evicted entries are counted for the application of their page."""
    array = Numbered(make_array(TlbConfig("sm", 4, 2, array=DENSE, hash="xor")))
    other = 1 << ASID_SHIFT
    for tag in (0, 0b11, 0b1111, other | 0b110011):
        array.insert(tag, 1, 0)
    assert array.lookup(0, 0) == NO_PAGE
    told = [attrs.astuple(array.counters_of(asid)[0]) for asid in (0, 1)]  # type: ignore[arg-type]
    assert told == [(2,), (0,)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"hash": "xorr"}, "tlb.L2.hash = 'xorr'.*did you mean 'xor'.*none"),
        ({"ways": 64}, "tlb.L2.hash.*of no effect: all entries are one set"),
        ({"array": "cluster"}, "tlb.L2.hash.*'cluster' chooses its sets in its own way"),
        ({"sets": "base-delta"}, "tlb.L2.hash.*'set-associative' chooses"),
        ({"scope": "sm", "array": "tb-partitioned"}, "tlb.L2.hash.*'tb-partitioned' chooses"),
        ({"array": {"policy": "static-ways", "ways_of": "2/2", "of": "cluster"}}, "tlb.L2.hash"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(keys: dict[str, Any], message: str) -> None:
    table = {"hash": "xor", "entries": 64, "ways": 4, **keys}
    with pytest.raises(UserError, match=message):
        gpusim.load_model("tiny", overrides={f"tlb.L2.{key}": it for key, it in table.items()})


def test_none_takes_it_away() -> None:
    model = gpusim.load_model("tiny", overrides={"tlb.L2.hash": "none"})
    assert model.config.tlb["L2"].hash is None
    assert "tlb.L2.hash" not in model.origins
