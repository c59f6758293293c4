"""Frames for the largest pages that fit into arrays: their sizes, and that no two overlap."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError, UserError
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import Frames, LargestFitFrames, Memory, PageTable

KIB4, KIB64, MIB2 = 4 << 10, 64 << 10, 2 << 20
SIZES = {KIB4: [KIB4, KIB64, MIB2], KIB64: [KIB64, MIB2], MIB2: [MIB2]}
BASE = 1 << 32


def allocator(page: int, frames: int, **options: Any) -> LargestFitFrames:
    made = LargestFitFrames(frames, 0, **options)
    made.page_bytes = page
    return made


def pages_of(given: int | Frames) -> tuple[int, int]:
    return (given.pfn, given.pages) if isinstance(given, Frames) else (given, 1)


def table_of(page: int, memory: int, arrays: list[Buffer], **options: Any) -> PageTable:
    frames = LargestFitFrames((memory - memory // 64) // page, 0, **options)
    table = PageTable(page, 4, [Memory(page, memory, frames)])
    table.begin(0, arrays)
    return table


@st.composite
def arrays(draw: Any) -> tuple[int, str, list[Buffer]]:
    """A smallest page, the largest one allowed, and arrays that no page shares."""
    page = draw(st.sampled_from([KIB4, KIB64, MIB2]))
    largest = draw(st.sampled_from(["4KiB", "64KiB", "2MiB"]))
    found, at = [], BASE
    for number in range(draw(st.integers(1, 4))):
        at += draw(st.sampled_from([0, page, 3 * page, KIB64, MIB2, MIB2 - page]))
        at = -(-at // page) * page
        size = draw(st.sampled_from([1, 100, page, 5 * KIB4, KIB64, 3 * KIB64, MIB2 + 5, 5 << 20]))
        found.append(Buffer(f"array {number}", at, size))
        at += -(-size // page) * page
    return page, largest, found


def size_of(page: int, largest: str, arrays: list[Buffer], vpn: int) -> int:
    """Bytes of the page that a small one is in: the largest that one array holds whole."""
    limit = {"4KiB": KIB4, "64KiB": KIB64, "2MiB": MIB2}[largest]
    best = page
    for size in SIZES[page]:
        first = vpn * page // size * size
        for one in arrays:
            end = -(-(one.base + one.bytes) // page) * page
            if size <= limit and one.base <= first and first + size <= end:
                best = max(best, size)
    return best


@given(arrays(), st.randoms(use_true_random=False))
def test_sizes_follow_the_arrays_and_frames_never_overlap(case: Any, rng: Any) -> None:
    page, largest, found = case
    table = table_of(page, 256 << 20, found, largest=largest)
    touched = [
        vpn for one in found for vpn in range(one.base // page, -(-(one.base + one.bytes) // page))
    ]
    touched += [BASE // page - 1, touched[-1] + 1000]
    rng.shuffle(touched)
    used: dict[int, int] = {}
    for vpn in touched[:300]:
        mapping = table.walk(0, vpn).mapping
        assert mapping.covers(vpn)
        assert mapping.pages * page == size_of(page, largest, found, vpn)
        assert mapping.pfn % mapping.pages == 0
        for number in range(mapping.pages):
            owner = used.setdefault(mapping.pfn + number, mapping.vpn + number)
            assert owner == mapping.vpn + number, "a frame belongs to one page"


def test_an_array_of_five_mib_has_small_pages_at_its_ends() -> None:
    table = table_of(KIB4, 64 << 20, [Buffer("a", BASE + 3 * KIB4, 5 << 20)])
    first = BASE // KIB4
    last = first + 3 + (5 << 20) // KIB4 - 1
    sizes = [table.walk(0, vpn).mapping.pages for vpn in (first, first + 3, first + 15, first + 16)]
    assert sizes == [1, 1, 1, 16]  # before the array; up to the first 64 KiB; then these
    assert [table.walk(0, first + page).mapping.pages for page in (511, 512, 1023)] == [
        16,
        512,
        512,
    ]
    assert [table.walk(0, vpn).mapping.pages for vpn in (last - 3, last - 2, last)] == [16, 1, 1]
    assert [table.walk(0, first + page).mapping.pages for page in (1024, 1279)] == [16, 16]


def test_arrays_of_another_address_space_do_not_count() -> None:
    made = allocator(KIB64, 1024)
    made.begin(0, [Buffer("a", 0, MIB2)])
    assert pages_of(made.allocate(1, 0)) == (0, 1)
    assert pages_of(made.allocate(0, 0)) == (32, 32)
    assert pages_of(made.allocate(1, 1)) == (1, 1), "of the region that small pages have"


def test_freed_frames_are_given_to_pages_of_their_size() -> None:
    made = allocator(KIB64, 96)
    made.begin(0, [Buffer("a", 0, 3 * MIB2)])
    huge = [pages_of(made.allocate(0, 32 * number)) for number in range(2)]
    small = [pages_of(made.allocate(1, number)) for number in range(3)]
    assert (huge, small) == ([(0, 32), (32, 32)], [(64, 1), (65, 1), (66, 1)])
    made.free(1, 1, 65, 1)
    made.free(0, 32, 32, 32)
    assert pages_of(made.allocate(0, 64)) == (32, 32)
    rest = [pages_of(made.allocate(1, number)) for number in range(3, 33)]
    assert sorted(rest) == [(65, 1), *((frame, 1) for frame in range(67, 96))]


def test_full_memory_is_refused() -> None:
    made = allocator(KIB64, 95)  # less than three regions
    made.begin(0, [Buffer("a", 0, 3 * MIB2)])
    for number in range(2):
        made.allocate(0, 32 * number)
    with pytest.raises(UserError, match=r"physical memory is full: all 95 frames.*memory\.size"):
        made.allocate(0, 64)
    with pytest.raises(UserError, match="physical memory is full"):
        made.allocate(1, 0)


def test_a_page_that_went_comes_back_in_the_same_size() -> None:
    table = table_of(KIB4, 64 << 20, [Buffer("a", BASE, MIB2)])
    before = table.walk(0, BASE // KIB4 + 100).mapping
    gone = table.unmap(0, BASE // KIB4 + 511)
    assert gone is before
    after = table.walk(0, BASE // KIB4 + 3).mapping
    assert (after.vpn, after.pages, after.pfn) == (before.vpn, 512, before.pfn)
    assert after is not before


def test_arrays_that_share_a_page() -> None:
    """One ends within the last small page of 64 KiB, in which the other one begins."""
    edge = BASE + 15 * KIB4
    arrays = [Buffer("a", BASE, 15 * KIB4 + 100), Buffer("b", edge + 256, MIB2)]
    for order in ((edge, BASE), (BASE, edge)):
        table = table_of(KIB4, 64 << 20, arrays)
        for address in order:
            assert table.walk(0, address // KIB4).mapping.covers(address // KIB4)


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(OptionError, match=r"largest.*did you mean '2MiB'"):
        LargestFitFrames(10, 0, largest="2MB")
