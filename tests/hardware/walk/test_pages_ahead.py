"""Pages that are mapped ahead in runs, against a table that walks them one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import (
    ContiguousFrames,
    FirstTouchFrames,
    FrameAllocator,
    Frames,
    LargestFitFrames,
    Memory,
    MosaicFrames,
    PageTable,
    RegionFrames,
    ScatteredFrames,
)
from tests.examples import examples

KIB4, KIB64, MIB2 = 4 << 10, 64 << 10, 2 << 20
SIZE = 64 << 20
"""Bytes of a memory, which some arrays fill."""
FIRST = 0x10000000
CHOSEN = 1 << 20
"""Frames from here on are chosen by tests; those below are given by the allocator."""


class OddFrames(FrameAllocator):
    """Of one's own: pages of 64 KiB wherever a number is divisible by 3, each second frame else."""

    eager = True

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self._next = 0

    def allocate(self, asid: int, vpn: int) -> int | Frames:
        large = KIB64 // self.page_bytes
        pages = large if large > 1 and vpn // large % 3 == 0 else 1
        first = -(-(self._next + 1) // pages) * pages
        if first + pages > self.frames:
            raise self.memory_full()
        self._next = first + pages
        return first if pages == 1 else Frames(first, pages)

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        """Nothing comes back."""


POLICIES: list[Callable[[int, int], FrameAllocator]] = [
    ContiguousFrames, FirstTouchFrames, ScatteredFrames, RegionFrames, MosaicFrames,
    LargestFitFrames, OddFrames,
]  # fmt: skip


@attrs.frozen
class Case:
    """A table and its arrays.

    Attributes:
        policy: makes allocators.
        page: bytes of the smallest page.
        entries: of a table.
        shared: whether the two address spaces share a memory.
        arrays: of each address space.
    """

    policy: Callable[[int, int], FrameAllocator]
    page: int
    entries: int
    shared: bool
    arrays: tuple[tuple[Buffer, ...], tuple[Buffer, ...]]

    def table(self, *, in_runs: bool) -> PageTable:
        """A table that maps these arrays ahead, unless it is full before."""
        memories = [self._memory(0), self._memory(SIZE)]
        if self.shared:
            memories[1] = memories[0]
        table = PageTable(self.page, 4, memories, self.entries)
        assert table.in_runs
        table.in_runs = in_runs
        for asid, arrays in enumerate(self.arrays):
            try:
                table.begin(asid, arrays)
            except UserError as error:
                if "physical memory is full" not in str(error):
                    raise
        return table

    def _memory(self, base: int) -> Memory:
        frames = (SIZE - SIZE // 8) // self.page
        return Memory(self.page, SIZE, self.policy(frames, 7), base, ahead=True)


@st.composite
def cases(draw: Any) -> Case:
    """Arrays that share pages, or leave gaps, up to as many as memory holds."""
    spaces = []
    for _ in range(2):
        address, arrays = FIRST + draw(st.sampled_from([0, 4096, MIB2 - 4096])), []
        for number in range(draw(st.integers(0, 4))):
            sizes = st.sampled_from([1, 4096, 40_000, KIB64, 3 * KIB64, MIB2, MIB2 + KIB4])
            size = draw(st.one_of(sizes, sizes, st.integers(1, SIZE // 3)))
            arrays.append(Buffer(f"a{number}", address, size))
            address += size + draw(st.sampled_from([0, 0, 100, 4096, 5 * KIB64]))
            address = -(-address // 256) * 256
        spaces.append(tuple(draw(st.permutations(arrays))))
    return Case(
        draw(st.sampled_from(POLICIES)),
        draw(st.sampled_from([KIB4, KIB4, KIB64, MIB2])),
        draw(st.sampled_from([512, 32])),
        draw(st.booleans()),
        (spaces[0], spaces[1]),
    )


ACTIONS = ("walk", "walk", "find", "knows", "unmap", "unmap", "remap", "move", "map", "protect",
           "promote", "copy")  # fmt: skip
actions = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1), st.integers(0, 1 << 30)), max_size=25
)


def act(table: PageTable, what: str, asid: int, vpn: int, number: int) -> object:
    """Do something to a page; returns all that can be seen of it."""
    chosen = CHOSEN + 512 * number
    large = max(KIB64 // (1 << table.page_shift), 1)
    if what == "walk":
        path = table.walk(asid, vpn)
        return path.entries, path.prefixes, seen(path.mapping)
    if what == "find":
        return seen(table.find(asid << ASID_SHIFT | vpn))
    if what == "knows":
        return table.knows(asid << ASID_SHIFT | vpn)
    if what == "unmap":
        return seen(table.unmap(asid, vpn))
    if what == "remap":
        return table.remap(asid, vpn)
    if what == "move":
        return table.remap(asid, vpn, chosen)
    if what == "map":
        return seen(table.map(asid, vpn // large * large, chosen, large))
    if what == "copy":  # into the frame that a neighbour lies in
        beside = table.find(asid << ASID_SHIFT | vpn + 1)
        return None if beside is None else table.remap(asid, vpn, beside.pfn)
    if what == "protect":
        return table.protect(asid, vpn, writable=number % 2 == 0)
    pages = (MIB2 if number % 2 else KIB64) >> table.page_shift
    return seen(table.promote(asid, vpn, max(pages, 1)))


def seen(mapping: Mapping | None) -> object:
    return mapping and (mapping.tag, mapping.pfn, mapping.pages, mapping.writable)


def outcome(*action: Any) -> object:
    """What an action returns, or the message with which it is refused."""
    try:
        return act(*action)
    except UserError as error:
        return str(error)


@settings(max_examples=examples(150), deadline=None)
@given(cases(), actions)
def test_runs_are_what_walks_make(case: Case, done: list[tuple[str, int, int]]) -> None:
    runs, walks = case.table(in_runs=True), case.table(in_runs=False)
    for number, (what, asid, place) in enumerate(done):
        arrays = case.arrays[asid]
        array = arrays[place % len(arrays)] if arrays else Buffer("none", FIRST, 4096)
        vpn = (array.base + place % (array.bytes + 2 * KIB64)) // case.page
        assert outcome(runs, what, asid, vpn, number) == outcome(walks, what, asid, vpn, number)
    assert runs.mapped_pages == walks.mapped_pages
    for asid in range(2):
        for vpn in (FIRST // case.page + 7 * number for number in range(40)):
            assert outcome(runs, "walk", asid, vpn, 0) == outcome(walks, "walk", asid, vpn, 0)
        assert list(map(seen, runs.pages_of(asid))) == list(map(seen, walks.pages_of(asid)))


@pytest.mark.parametrize("policy", POLICIES)
def test_each_page_has_the_frame_and_entries_of_a_walk(
    policy: Callable[[int, int], FrameAllocator],
) -> None:
    arrays = (Buffer("a", FIRST, 9 * MIB2 + 40_000), Buffer("b", FIRST + 10 * MIB2 + 4096, MIB2))
    for entries in (512, 32):
        case = Case(policy, KIB4, entries, True, (arrays, arrays[:1]))
        runs, walks = case.table(in_runs=True), case.table(in_runs=False)
        last = (FIRST + 11 * MIB2) // KIB4
        for vpn in range(last, FIRST // KIB4 - 1, -1):  # not in the order in which they are mapped
            for asid in (1, 0):
                assert runs.knows(asid << ASID_SHIFT | vpn) == walks.knows(asid << ASID_SHIFT | vpn)
                if walks.find(asid << ASID_SHIFT | vpn):
                    assert act(runs, "walk", asid, vpn, 0) == act(walks, "walk", asid, vpn, 0)
        assert runs.pages_of_frames() == walks.pages_of_frames()


@pytest.mark.parametrize("policy", [ContiguousFrames, RegionFrames, LargestFitFrames])
def test_an_array_of_40_gib_takes_no_memory_for_each_page(
    policy: Callable[[int, int], FrameAllocator],
) -> None:
    size = 80 << 30
    memory = Memory(KIB4, size, policy((size - size // 64) // KIB4, 0), ahead=True)
    table = PageTable(KIB4, 4, [memory])
    array = Buffer("a", FIRST, 40 << 30)
    table.begin(0, [array])
    pages = (40 << 30) // (MIB2 if policy is LargestFitFrames else KIB4)
    assert (table.mapped_pages, len(table._paths)) == (pages, 0)
    last = (FIRST + (40 << 30)) // KIB4 - 1
    assert table.walk(0, last).mapping.frame(last) == (40 << 30) // KIB4 - 1
    assert len(table._paths) <= 512
    assert table.find(last + 1) is None


def test_an_array_that_its_program_maps_is_not_reached_by_another_one() -> None:
    table = PageTable(KIB4, 4, [Memory(KIB4, SIZE, ContiguousFrames(1000, 0))])
    reserved = Buffer("cache", FIRST + KIB64, KIB64, piece=KIB64)
    with pytest.raises(UserError, match=r"page 0x10010000 of array 'cache', from byte 0 on"):
        table.begin(0, [Buffer("a", FIRST, 2 * KIB64), reserved])
