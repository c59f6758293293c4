"""STAR's TLB against a slow one that keeps sub-entries by number; its algorithms by hand."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import TlbConfig
from gpusim.core.errors import OptionError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.structures import Dimensions
from gpusim.hardware.tlb import StarArray, SubEntryArray, TlbArray
from gpusim.hardware.tlb.star_entry import SharedEntry
from tests.examples import examples
from tests.hardware.tlb.numbered import NO_PAGE, Numbered
from tests.hardware.tlb.slow_star import SlowStar


@st.composite
def shapes(
    draw: Any, most: int, relocate: str = "eager"
) -> tuple[tuple[int, int, int], dict[str, Any]]:
    """Sets, ways, sub-entries; options."""
    sub_entries = draw(st.sampled_from([s for s in (2, 4, 8, 8, 16, 16) if s >= most]))
    strides = [s for s in (1, 2, 4, 8) if s * max(most, 2) <= sub_entries]
    options: dict[str, Any] = {
        "bases": most,
        "layouts": draw(st.sampled_from(["both", "sequential", "stride"])),
        "single": draw(st.sampled_from(["stride", "sequential"])),
        "stride": draw(st.sampled_from(strides)),
        "relocate": relocate,
    }
    return (draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 2)), sub_entries), options


bursts = st.lists(
    st.tuples(
        st.sampled_from(["insert"] * 6 + ["lookup"] * 5 + ["invalidate"] * 2 + ["flush"]),
        st.sampled_from([0, 0, 0, 1]),  # address space
        st.integers(0, 3),  # page base
        st.integers(0, 15),
        st.integers(1, 4),
        st.sampled_from([1, 1, 2, 3, 5, 11]),  # indices
    ),
    min_size=40,
    max_size=80,
)


def calls_of(burst: tuple[str, int, int, int, int, int], size: int) -> list[tuple[str, int]]:
    """Calls on pages of one base, some index apart."""
    what, asid, base, first, step, count = burst
    if what == "flush":
        return [(what, 0)] if count > 9 else []
    pages = [(first + step * number) % size for number in range(count)]
    return [(what, (asid << ASID_SHIFT) + base * size + page) for page in pages]


def entries_of(array: Numbered) -> list[SharedEntry]:
    return [entry for one in array._sets for entry in one.entries.values()]


def check_entries(array: Numbered, size: int) -> None:
    """What holds for the entries of the fast array, which keeps no sub-entries by number."""
    for one in array._sets:
        bases = [base for entry in one.entries.values() for base in entry.bases]
        assert one.last == max((base.number for base in bases), default=0)
        assert {id(base) for base in one.bases.values()} == {id(base) for base in bases}
    for entry in entries_of(array):
        bases, layout = entry.bases, entry.layout
        assert layout.bases == {1: 1, 2: 2, 3: 4, 4: 4}[len(bases)]
        numbers = [base.number for base in bases]
        assert numbers == sorted(set(numbers))
        assert numbers[-1] < layout.bases
        for base in bases:
            assert 1 <= len(base.pages) <= layout.quota
            assert {tag // size for tag in base.pages} == {base.vpb}


@pytest.mark.parametrize(("bases", "relocate"), [(2, "eager"), (2, "lazy"), (4, "eager")])
@settings(max_examples=examples(60), deadline=None)
@given(st.data(), bursts)
def test_against_the_slow_one(bases: int, relocate: str, data: Any, bursts: Any) -> None:
    (sets, ways, size), options = data.draw(shapes(bases, relocate))
    config = TlbConfig("gpu", sets * ways, ways, sub_entries=size)
    array = Numbered(StarArray(config, **options))
    slow = SlowStar(sets, ways, size, **options)
    for number, burst in enumerate(bursts):
        for what, tag in calls_of(burst, size):
            if what == "insert":
                assert array.insert(tag, number, 0) == slow.insert(tag, number)
            elif what == "lookup":
                assert array.lookup(tag, 3) == slow.lookup(tag)
                assert array.extra_cycles == array.pipelined_cycles == slow.extra
            elif what == "invalidate":
                assert array.invalidate(tag) == slow.invalidate(tag)
            else:
                array.flush()
                slow.flush()
            slow.check()
        check_entries(array, size)
    assert attrs.asdict(array.star) == slow.counts
    for asid in (0, 1):
        (evicted,) = array.counters_of(asid)
        assert list(attrs.asdict(evicted).values()) == [
            slow.evicted.count((asid, used)) for used in range(1, size + 1)
        ]


@settings(max_examples=examples(80), deadline=None)
@given(shapes(1), bursts)
def test_one_base_is_the_plain_array(shape: tuple[tuple[int, int, int], Any], bursts: Any) -> None:
    (sets, ways, size), options = shape
    config = TlbConfig("gpu", sets * ways, ways, sub_entries=size)
    arrays = [Numbered(StarArray(config, **options)), Numbered(SubEntryArray(config))]
    for number, burst in enumerate(bursts):
        for what, tag in calls_of(burst, size):
            assert same(
                {
                    "insert": lambda a, t=tag, n=number: a.insert(t, n, 0),
                    "lookup": lambda a, t=tag: (a.lookup(t, 0), a.extra_cycles),
                    "invalidate": lambda a, t=tag: a.invalidate(t),
                    "flush": lambda a: a.flush(),
                }[what],
                arrays,
            )
    counted = [attrs.asdict(one) for array in arrays for one in array.counters_of(0)]
    assert counted[0] == counted[1]
    assert not any(attrs.asdict(arrays[0].counters()[0]).values())


def same(call: Any, arrays: list[Numbered]) -> bool:
    return call(arrays[0]) == call(arrays[1])


@settings(max_examples=examples(80), deadline=None)
@given(bursts)
def test_strides_of_half_an_entry_are_the_sequential_layout(bursts: Any) -> None:
    config = TlbConfig("gpu", 2, 2, sub_entries=16)
    arrays = [
        Numbered(StarArray(config, layouts="stride", stride=8)),
        Numbered(StarArray(config, layouts="sequential")),
    ]
    for number, burst in enumerate(bursts):
        for what, tag in calls_of(burst, 16):
            if what == "insert":
                assert same(lambda a, t=tag, n=number: a.insert(t, n, 0), arrays)
            elif what == "lookup":
                assert same(lambda a, t=tag: (a.lookup(t, 0), a.extra_cycles), arrays)


# -- by hand: one set of two ways, 16 sub-entries; A and B fill it, C comes ---------------------

A, B, C, D, E = (16 * base for base in range(5))


def full_set(a: int | list[int], b: int | list[int], **options: Any) -> Numbered:
    """Base A with some pages, then base B with some; frames are page numbers."""
    array = Numbered(StarArray(TlbConfig("gpu", 2, 2, sub_entries=16), **options))
    for base, pages in ((A, a), (B, b)):
        insert(array, base, range(pages) if isinstance(pages, int) else pages)
    return array


def insert(array: Numbered, base: int, pages: Any) -> int:
    return sum(array.insert(base + page, base + page, 0) for page in pages)


def there(array: Numbered, base: int) -> list[int]:
    return [page for page in range(16) if array.lookup(base + page, 0) != NO_PAGE]


def layouts(array: Numbered) -> list[tuple[int, int]]:
    return [(entry.layout.bases, entry.layout.position) for entry in entries_of(array)]


def test_vacant_entries_first_then_shares_then_evictions() -> None:
    array = full_set(9, 3)
    assert layouts(array) == [(1, 0), (1, 0)]
    assert insert(array, C, [5]) == 0  # shares with B, which has 3; not with A, which has 9
    assert layouts(array) == [(1, 0), (2, 3)]
    assert insert(array, D, [0]) == 1  # no entry is left to share: A goes, least recently used
    assert there(array, A) == []
    assert (there(array, B), there(array, C), there(array, D)) == ([0, 1, 2], [5], [0])
    (evicted,) = array.counters_of(0)
    assert evicted.evicted_with_9 == 1
    assert sum(attrs.asdict(evicted).values()) == 1


def test_a_shared_entry_is_evicted_as_a_whole() -> None:
    array = full_set(9, 3)
    insert(array, C, [5, 6])
    insert(array, A, [9])  # now B and C are the least recently used entry
    assert insert(array, D, [0]) == 1
    assert (there(array, B), there(array, C), len(there(array, A))) == ([], [], 10)
    assert array.counters_of(0)[0].evicted_with_5 == 1  # both bases


def test_eight_pages_are_too_many_to_share() -> None:
    array = full_set(8, 8)
    assert insert(array, C, [0]) == 1
    assert array.star.sequential_shares == array.star.stride_shares == 0


def test_the_partner_with_fewest_pages_then_the_least_recent() -> None:
    array = full_set(3, 2)
    insert(array, C, [0])
    assert there(array, B) == [0, 1]
    assert layouts(array) == [(1, 0), (2, 3)]
    array = full_set(2, 2)
    insert(array, C, [0])
    assert {base.vpb * 16 for base in entries_of(array)[-1].bases} == {A, C}


def test_a_partner_of_the_same_process_comes_first() -> None:
    other = 1 << ASID_SHIFT
    array = Numbered(StarArray(TlbConfig("gpu", 2, 2, sub_entries=16)))
    insert(array, A, range(7))
    insert(array, other + B, range(1))
    insert(array, C, [0])
    assert {base.vpb * 16 for base in entries_of(array)[-1].bases} == {A, C}
    assert array.lookup(other + C, 0) == NO_PAGE


@pytest.mark.parametrize(
    ("pages", "position"),
    [([0, 1, 2], 3), ([5], 0), ([6, 7, 8, 9], 3), ([0, 2], 0), ([1, 2, 4], 0)],
)
def test_pages_without_gaps_are_laid_out_sequentially(pages: list[int], position: int) -> None:
    array = full_set(16, pages)
    insert(array, C, [0])
    assert layouts(array)[-1] == (2, position)
    assert array.star.sequential_shares == (position == 3)


def test_one_page_is_no_consecutive_pattern() -> None:
    """STAR §V-B: empty slots among the sub-entries are a stride; so are all beside one page."""
    for page in range(16):
        array = full_set(16, [page])
        insert(array, C, [0, 1, 2, 3])
        assert layouts(array)[-1] == (2, 0)
        assert there(array, B) == [page]
        assert there(array, C) == [1, 3], "0 and 2 were replaced by their aliases"
    array = full_set(16, [5], single="sequential")
    insert(array, C, [0, 1, 2, 3])
    assert (layouts(array)[-1], there(array, C)) == ((2, 3), [0, 1, 2, 3])


@pytest.mark.parametrize(("layout", "position"), [("sequential", 3), ("stride", 0)])
def test_one_layout_only(layout: str, position: int) -> None:
    for pages in ([0, 1], [0, 2]):
        array = full_set(16, pages, layouts=layout)
        insert(array, C, [0])
        assert layouts(array)[-1] == (2, position)


def test_aliases_replace_each_other_in_a_shared_entry() -> None:
    array = full_set(16, 3)
    insert(array, C, [4])
    assert array.lookup(C + 12, 0) == NO_PAGE  # the AIB does not match
    assert array.extra_cycles == 10
    insert(array, C, [12])  # index 4 and 12 have the same last three bits
    assert there(array, C) == [12]
    insert(array, C, [4])
    assert there(array, C) == [4]
    assert array.star.conflicts == 2
    assert there(array, B) == [0, 1, 2]


def test_aliases_of_strides() -> None:
    for stride, alias in ((1, 4 ^ 1), (2, 4 ^ 2), (4, 4 ^ 4)):
        array = full_set(16, [0, 3], layouts="stride", stride=stride)
        insert(array, C, [4])
        assert insert(array, C, [alias, 9]) == 0
        assert there(array, C) == sorted({alias, 9})


def test_of_aliases_the_one_used_last_stays_when_an_entry_becomes_shared() -> None:
    array = full_set(16, [2, 3, 6, 7, 9])  # a gap: stride layout, aliases 2-3 and 6-7
    array.lookup(B + 2, 0)
    array.lookup(B + 7, 0)
    array.lookup(A, 0)
    array.lookup(B + 9, 0)
    insert(array, C, [0])
    assert there(array, B) == [2, 7, 9]
    assert array.star.conversion_losses == 2


def test_a_run_of_seven_loses_nothing() -> None:
    for first in range(10):
        array = full_set(16, list(range(first, first + 7)))
        insert(array, C, [0])
        assert there(array, B) == list(range(first, first + 7))


def test_a_base_whose_sub_entries_are_full_gets_the_entry() -> None:
    array = full_set(16, 3)
    insert(array, C, range(4, 12))  # eight pages, all different in their last three bits
    assert len(there(array, C)) == 8
    insert(array, C, [4])  # there already: nothing happens
    assert layouts(array)[-1] == (2, 3)
    assert insert(array, C, [12]) == 0
    assert there(array, C) == list(range(4, 13))
    assert there(array, B) == []
    assert layouts(array) == [(1, 0), (1, 0)]
    counted = array.star
    assert (counted.reverts, counted.dropped_bases, counted.dropped_pages) == (1, 1, 3)
    assert not any(attrs.asdict(array.counters_of(0)[0]).values())  # a revert is no eviction
    array.lookup(C + 4, 0)
    assert array.extra_cycles == 0  # it is the first base now


def test_the_first_base_may_take_the_entry_back() -> None:
    array = full_set(16, 7)
    insert(array, C, [0, 1])
    insert(array, B, [7, 15])
    assert there(array, B) == [*range(8), 15]
    assert there(array, C) == []


def test_an_emptied_base_gives_its_half_back() -> None:
    array = full_set(16, 3)
    insert(array, C, [4])
    assert [array.invalidate(B + page) for page in range(4)] == [True] * 3 + [False]
    assert layouts(array)[-1] == (1, 0)
    insert(array, C, [12])
    assert there(array, C) == [4, 12]


def test_comparisons_of_a_lookup() -> None:
    def extra(page: int) -> int:
        array.lookup(page, 0)
        return array.extra_cycles

    array = full_set(16, 3)
    assert [extra(page) for page in (A, B, B + 9, C)] == [0, 0, 0, 0]
    insert(array, C, [0])
    # First bases hit or match; the second one matches; nothing does, in a set with a shared entry.
    assert [extra(page) for page in (A, B, B + 9, C, C + 9, D)] == [0, 0, 0, 10, 10, 10]
    for base in (D, E, 5 * 16):
        insert(array, base, range(16))
    assert [extra(page) for page in (D, E, A)] == [0, 0, 0]  # no shared entry is left


def test_the_example_of_the_docs() -> None:
    array = full_set(16, [0, 2, 3])
    insert(array, C, [6, 7])
    assert layouts(array)[-1] == (2, 0)
    found = [(array.lookup(page, 0), 40 + array.extra_cycles) for page in (C + 7, B + 3, C + 6)]
    assert found == [(C + 7, 50), (B + 3, 40), (NO_PAGE, 50)]
    assert there(array, B) == [0, 3]
    insert(array, C, [1, 2, 5, 9, 11, 13, 14])
    assert there(array, C) == [1, 2, 5, 7, 9, 11, 13, 14]
    insert(array, C, [0])
    assert there(array, C) == [0, 1, 2, 5, 7, 9, 11, 13, 14]
    assert there(array, B) == []
    assert insert(array, D, [0]) == 1
    assert array.counters_of(0)[0].evicted_with_16 == 1


# -- lazy relocation -----------------------------------------------------------------------------


def test_lazy_pages_stay_until_their_place_is_needed() -> None:
    array = full_set(16, [2, 3, 6], relocate="lazy")  # stride: base 1 has the odd sub-entries
    insert(array, C, [8])  # sub-entry 9
    assert there(array, B) == [2, 3, 6]  # 3 is a stray
    insert(array, C, [2])  # sub-entry 3: the stray's home, 2, is taken
    assert there(array, B) == [2, 6]
    assert there(array, C) == [2, 8]
    assert (array.star.conversion_losses, array.star.conflicts) == (0, 1)


def test_lazy_pages_move_if_their_home_is_free() -> None:
    array = full_set(16, [3, 5], relocate="lazy")
    insert(array, C, [8, 2])  # 2 needs sub-entry 3, the stray goes to 2
    assert there(array, B) == [3, 5]
    insert(array, B, [2])  # which is the home of page 2
    assert there(array, B) == [2, 5]
    insert(array, B, [4])  # home of 4, while 5 still strays in sub-entry 5
    assert there(array, B) == [2, 4, 5]


# -- four bases ----------------------------------------------------------------------------------


def four(b: list[int], *others: tuple[int, list[int]]) -> Numbered:
    array = full_set(16, b, bases=4)
    for base, pages in others:
        assert insert(array, base, pages) == 0
    return array


def test_two_bases_become_four_and_fewer_again() -> None:
    array = four([0, 1, 2], (C, [1, 2, 3]))
    assert layouts(array)[-1] == (2, 3)
    assert insert(array, D, [5]) == insert(array, E, [6]) == 0
    assert layouts(array)[-1] == (4, 2)
    assert array.star.promotions == 1
    numbers = {A: 0, B: 0, C: 1, D: 2, E: 3}
    for base, number in numbers.items():
        array.lookup(base + 1, 0)
        assert array.extra_cycles == 10 * number
    array.lookup(5 * 16, 0)
    assert array.extra_cycles == 30
    # D fills its quarter; the next page leaves it and the fullest other, C or B: the first of them.
    insert(array, D, [0, 2, 3])
    assert there(array, D) == [0, 2, 3, 5]
    insert(array, D, [4])
    assert layouts(array)[-1] == (2, 3)
    assert (there(array, B), there(array, C), there(array, E)) == ([0, 1, 2], [], [])
    assert there(array, D) == [0, 2, 3, 4, 5]
    insert(array, D, [6, 14, 7, 9])
    assert there(array, D) == [0, 2, 3, 4, 5, 7, 9, 14]  # 14 replaced its alias 6
    insert(array, D, [6])
    assert layouts(array)[-1] == (1, 0)
    assert there(array, D) == [0, 2, 3, 4, 5, 6, 7, 9, 14]
    assert (array.star.demotions, array.star.reverts, array.star.dropped_bases) == (1, 1, 3)


def test_four_pages_of_a_base_are_too_many_for_four_bases() -> None:
    array = four([0, 1, 2, 3], (C, [1]))
    array.lookup(A, 0)
    assert insert(array, D, [0]) == 1


def test_a_private_entry_is_shared_before_two_bases_become_four() -> None:
    array = full_set(4, 2, bases=4)
    insert(array, C, [0])
    insert(array, D, [0])
    assert layouts(array) == [(2, 3), (2, 3)]
    insert(array, E, [0])
    assert sorted(layouts(array)) == [(2, 3), (4, 2)]


def test_four_pages_are_aliases_in_a_quarter() -> None:
    array = four([0, 2], (C, [0]), (D, [4, 5, 6, 7, 8]))  # strides: low two bits are the base's
    assert layouts(array)[-1] == (4, 0)
    assert there(array, D) == [7, 8]
    assert array.star.conflicts == 3
    assert there(array, B) == [2]  # 0 and 2 are aliases now
    assert array.star.conversion_losses == 1


# -- options, storage ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"bases": 3}, "bases"),
        ({"layouts": "strides"}, "layouts"),
        ({"single": "both"}, "single"),
        ({"stride": 3}, "stride"),
        ({"stride": 16}, "stride"),
        ({"stride": 0}, "stride"),
        ({"stride": 8, "bases": 4}, "stride"),
        ({"relocate": "never"}, "relocate"),
        ({"relocate": "lazy", "bases": 4}, "relocate"),
        ({"compare_cycles": -1}, "compare_cycles"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], name: str) -> None:
    with pytest.raises(OptionError) as caught:
        StarArray(TlbConfig("gpu", 8, 8, sub_entries=16), **options)
    assert caught.value.name == name


def test_an_entry_of_one_page_cannot_be_shared() -> None:
    with pytest.raises(OptionError, match="sub_entries: must be 2 or more"):
        StarArray(TlbConfig("gpu", 8, 8))
    StarArray(TlbConfig("gpu", 8, 8), bases=1)


PAPER = Dimensions(page_bits=57 - 16, frame_bits=52, sms=98, block_slots=32, page_table_levels=4)
"""30 bits of base, 7 of set, 4 of sub-entry; 52 bits a sub-entry (STAR §V-C)."""
L3 = TlbConfig("gpu", 1024, 8, sub_entries=16)


@pytest.mark.parametrize(
    ("array", "bits"),
    [
        (SubEntryArray(L3), 2 + 30 + 16 * 52),
        (StarArray(L3, bases=1), 864),
        (StarArray(L3), 864 + 2 + 16 + 30 + 2),
        (StarArray(L3, relocate="lazy"), 914 + 16),
        (StarArray(L3, bases=4), 864 + 3 + 2 * 16 + 3 * (30 + 2)),
    ],
)
def test_bits_of_an_entry(array: TlbArray, bits: int) -> None:
    kept = array.storage(PAPER)
    assert kept is not None
    (entries,) = kept
    assert (entries.count, entries.entry_bits) == (1024, bits)


def test_the_port_is_held_if_told_so() -> None:
    array = full_set(16, 3, hold_port=True, compare_cycles=7)
    insert(array, C, [0])
    array.lookup(C, 0)
    assert (array.extra_cycles, array.pipelined_cycles) == (7, 0)
    array.lookup(B, 0)
    assert (array.extra_cycles, array.pipelined_cycles) == (0, 0)
