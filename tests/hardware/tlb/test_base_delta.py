"""Compressed TLB sets against lists; what must hold in them after every call."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.policy import PolicyConfig
from gpusim.hardware.tlb import BaseDeltaSets, SetAssociativeArray
from gpusim.hardware.tlb.base_delta import BaseDeltaSet
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered


def tlb(entries: int, ways: int, **options: Any) -> Numbered:
    config = TlbConfig("gpu", entries, ways, sets=PolicyConfig("base-delta", options))
    return Numbered(SetAssociativeArray(config))


def plain_tlb(entries: int, ways: int) -> Numbered:
    return Numbered(SetAssociativeArray(TlbConfig("gpu", entries, ways)))


class Naive:
    """Two lists a set, least recently used first, and a base."""

    def __init__(
        self,
        entries: int,
        ways: int,
        *,
        rebase: int = 256,
        partitioned: bool = True,
        delta_vpn_bits: int = 13,
        delta_pfn_bits: int = 9,
        restore: bool = False,
        overflow: bool = False,
    ) -> None:
        self.overflow = overflow
        self.count = entries // ways
        self.plain_size = ways // 2 if partitioned else 0
        self.packed_size = 2 * (ways - self.plain_size)
        self.rebase, self.restore = rebase, restore
        self.vpn, self.pfn = 2**delta_vpn_bits, 2**delta_pfn_bits
        self.flush()

    def flush(self) -> None:
        self.plain: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.packed: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        self.base: list[Any] = [None] * self.count
        self.left = [self.rebase] * self.count

    def _parts(self, tag: int) -> list[list[tuple[int, int]]]:
        return [self.plain[tag % self.count], self.packed[tag % self.count]]

    def lookup(self, tag: int) -> int:
        for part in self._parts(tag):
            for translation in part:
                if translation[0] == tag:
                    part.remove(translation)
                    part.append(translation)
                    return translation[1]
        return NO_PAGE

    def invalidate(self, tag: int) -> bool:
        before = sum(map(len, self._parts(tag)))
        for part in self._parts(tag):
            part[:] = [one for one in part if one[0] != tag]
        return sum(map(len, self._parts(tag))) < before

    def insert(self, tag: int, pfn: int) -> int:
        self.invalidate(tag)
        at = tag % self.count
        base = (tag // self.count // self.vpn, pfn // self.pfn)
        if self.base[at] is None:
            self.base[at] = base
            self.left[at] = self.rebase
        match = base == self.base[at]
        part = self.packed[at] if match else self.plain[at]
        size = self.packed_size if match else self.plain_size
        part.append((tag, pfn))
        if match and self.overflow and len(part) > size:
            gone = part.pop(0)
            part, size = self.plain[at], self.plain_size
            part.append(gone)
        evicted = max(len(part) - size, 0) if size else 0
        del part[: len(part) - size if len(part) > size else 0]
        if match:
            if self.restore:
                self.left[at] = self.rebase
        elif self.rebase:
            self.left[at] -= 1
            if not self.left[at]:
                evicted += len(self.packed[at])
                self.packed[at] = []
                self.base[at] = None
        return evicted


def check_sets(array: Numbered, kind: BaseDeltaSets) -> None:
    """MECHANISMS §7 of the compressed TLB: what must hold in every set at any time."""
    shift = (len(array._sets) - 1).bit_length()
    for one in array._sets:
        assert isinstance(one, BaseDeltaSet)
        assert one.left >= 0
        assert len(one.compressed.entries) <= 2 * kind.compressed_ways
        assert len(one.plain.entries) <= kind.plain_ways
        if one.base is None:
            assert not one.compressed.entries
            continue
        page, frame = one.base
        for delta, entry in one.compressed.entries.items():
            assert delta < 1 << kind.delta_vpn_bits
            assert page << kind.delta_vpn_bits | delta == entry.tag >> shift
            low = entry.pfn & (1 << kind.delta_pfn_bits) - 1
            assert frame << kind.delta_pfn_bits | low == entry.pfn


pages = st.builds(
    lambda asid, vpn: asid << ASID_SHIFT | vpn, st.sampled_from([0, 0, 0, 1]), st.integers(0, 60)
)
calls = st.lists(
    st.tuples(
        st.sampled_from(["lookup"] * 4 + ["insert"] * 6 + ["invalidate", "flush"]),
        pages,
        st.integers(0, 40),
    ),
    min_size=20,
    max_size=120,
)
options = st.fixed_dictionaries(
    {
        "rebase": st.integers(0, 5),
        "partitioned": st.booleans(),
        "delta_vpn_bits": st.integers(1, 6),
        "delta_pfn_bits": st.integers(1, 6),
        "restore": st.booleans(),
        "overflow": st.booleans(),
    }
).filter(lambda options: options["partitioned"] or not options["overflow"])


def call(array: Any, what: str, tag: int, pfn: int, *slot: int) -> Any:
    if what == "insert":
        return array.insert(tag, pfn, *slot)
    if what == "lookup":
        return array.lookup(tag, *slot)
    return array.flush() if what == "flush" else array.invalidate(tag)


@settings(max_examples=examples(300))
@given(st.sampled_from([(4, 4), (8, 4), (8, 2), (16, 4)]), options, calls)
def test_against_lists(shape: tuple[int, int], options: Any, calls: Any) -> None:
    array, naive = tlb(*shape, **options), Naive(*shape, **options)
    for what, tag, pfn in calls:
        assert call(array, what, tag, pfn, 0) == call(naive, what, tag, pfn)
        kind = array._kind
        assert isinstance(kind, BaseDeltaSets)
        check_sets(array, kind)


@settings(max_examples=examples(200))
@given(calls)
def test_pages_that_never_match_find_half_the_ways(calls: Any) -> None:
    """Each set gets its base from a page of its own, which no other page matches."""
    compressed, half = tlb(16, 4, rebase=0), plain_tlb(8, 2)
    for index in range(4):
        assert compressed.insert(9 << ASID_SHIFT | index, 1 << 30, 0) == 0
    for what, tag, pfn in calls:
        if what != "flush":
            assert call(compressed, what, tag, pfn, 0) == call(half, what, tag, pfn, 0)


@settings(max_examples=examples(200))
@given(calls)
def test_pages_that_always_match_find_twice_half_the_ways(calls: Any) -> None:
    compressed = tlb(16, 4, delta_vpn_bits=60, delta_pfn_bits=60)
    plain = plain_tlb(16, 4)
    for what, tag, pfn in calls:
        assert call(compressed, what, tag, pfn, 0) == call(plain, what, tag, pfn, 0)


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 60), min_size=20, max_size=150), st.randoms(use_true_random=False))
def test_never_worse_than_the_plain_half_alone(stream: list[int], rng: random.Random) -> None:
    frames = {vpn: rng.randrange(1 << 12) for vpn in stream}
    compressed = tlb(16, 4, rebase=0, delta_vpn_bits=3)
    half = plain_tlb(8, 2)
    for vpn in stream:
        hits = []
        for array in (compressed, half):
            hits.append(array.lookup(vpn, 0) != NO_PAGE)
            if not hits[-1]:
                array.insert(vpn, frames[vpn], 0)
        assert hits[0] >= hits[1]


def test_random_frames_with_rebase_hit_as_often_as_the_plain_half_alone() -> None:
    rng = random.Random(1)
    frames = [rng.randrange(1 << 20) for _ in range(700)]
    stream = [min(int(rng.expovariate(1 / 150)), 699) for _ in range(30_000)]
    hits = []
    for array in (tlb(512, 16), plain_tlb(256, 8)):
        hits.append(0)
        for vpn in stream:
            if array.lookup(vpn, 0) == NO_PAGE:
                array.insert(vpn, frames[vpn], 0)
            else:
                hits[-1] += 1
    assert hits[0] >= hits[1] > 10_000


def test_reach_of_clustered_pages_is_half_as_much_again() -> None:
    """8 plain ways and 8 of two translations each: 16 pages of the base and 8 others a set."""
    array = tlb(16, 16, rebase=0)
    assert sum(array.insert(vpn, vpn, 0) for vpn in range(16)) == 0
    assert sum(array.insert(1 << 20 | vpn, 1 << 18 | vpn, 0) for vpn in range(8)) == 0
    assert array.insert(16, 16, 0) == array.insert(1 << 20 | 8, 1 << 18 | 8, 0) == 1
    assert array._kind.counters()[0].compressed_evictions == 1


def test_halves_evict_from_themselves_only() -> None:
    """Insertions that match evict no plain translation, and those that do not no compressed one."""
    far = 1 << 20
    array = tlb(4, 4, rebase=0)  # 2 plain ways, and 2 of two translations each
    for page in (0, 1, 2, 3):
        array.insert(page, page, 0)
    for page in (far, far + 1):
        array.insert(page, page, 0)
    assert array.insert(4, 4, 0) == 1
    assert [array.lookup(page, 0) for page in (0, far, far + 1)] == [NO_PAGE, far, far + 1]
    assert array.insert(far + 2, far + 2, 0) == 1
    assert [array.lookup(page, 0) for page in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert array.lookup(far, 0) == NO_PAGE
    counters = array._kind.counters()[0]
    assert (counters.compressed_evictions, counters.plain_evictions, counters.overflows) == (
        1,
        1,
        0,
    )


def test_pages_that_all_match_have_one_and_a_half_times_the_ways_if_they_may_overflow() -> None:
    array = tlb(16, 16, overflow=True)
    assert sum(array.insert(vpn, vpn, 0) for vpn in range(24)) == 0
    assert all(array.lookup(vpn, 0) == vpn for vpn in range(24))
    assert array.insert(24, 24, 0) == 1
    assert array._kind.counters()[0].overflows == 9


def test_a_rebase_forgets_the_compressed_and_the_next_page_sets_the_base() -> None:
    array = tlb(4, 4, rebase=2)
    far = 1 << 20
    array.insert(1, 1, 0)
    array.insert(2, 2, 0)
    assert array.insert(far, far, 0) == 0
    assert array.insert(far + 1, far + 1, 0) == 2  # pages 1 and 2; both far ones stay, plain
    assert [array.lookup(page, 0) for page in (1, 2, far, far + 1)] == [
        NO_PAGE,
        NO_PAGE,
        far,
        far + 1,
    ]
    assert all(array.insert(far + page, far + page, 0) == 0 for page in range(2, 6))
    counters = attrs.asdict(array._kind.counters()[0])
    assert counters == {
        "compressed_inserts": 6,
        "plain_inserts": 2,
        "dropped_inserts": 0,
        "compressed_evictions": 0,
        "overflows": 0,
        "plain_evictions": 0,
        "rebases": 1,
        "rebase_evictions": 2,
    }


@pytest.mark.parametrize(
    ("options", "ways", "words"),
    [
        ({"rebase": -1}, 4, ["rebase", "0 or more"]),
        ({"delta_vpn_bits": 0}, 4, ["delta_vpn_bits", "1 or more"]),
        ({"extra_cycles": -1}, 4, ["extra_cycles", "0 or more"]),
        ({}, 1, ["ways", "even"]),
        ({"overflow": True, "partitioned": False}, 4, ["overflow", "no effect"]),
    ],
)
def test_refused(options: Any, ways: int, words: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        tlb(4, ways, **options)
    assert [word for word in words if word not in str(caught.value)] == []
