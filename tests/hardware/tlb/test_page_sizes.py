"""Pages of several sizes side by side in one page table, against a dict of small pages."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import FrameAllocator, Frames, Memory, PageTable

KIB4, KIB64, MIB2 = 4 << 10, 64 << 10, 2 << 20
MEMORY = 8 << 30
SIZES = {KIB4: (1, 16, 512), KIB64: (1, 32), MIB2: (1,)}
"""Sizes of pages, in the smallest ones."""
CHOSEN = 100_000
"""Frames from here on are chosen by tests; those below are given by the allocator."""


class Told(FrameAllocator):
    """Gives a page `pages` frames that no other page has."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames, 0)
        self.pages = 1
        self.given = 0
        self.freed: list[tuple[int, int, int, int]] = []

    def allocate(self, asid: int, vpn: int) -> int | Frames:
        first = -(-self.given // self.pages) * self.pages
        self.given = first + self.pages
        return first if self.pages == 1 else Frames(first, self.pages)

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        self.freed.append((asid, vpn, pfn, pages))


@attrs.frozen
class Page:
    """A page of an oracle: its first small page, how many it has, its frame, and whether stores
    to it are allowed."""

    vpn: int
    pages: int
    pfn: int
    writable: bool = True


class Naive:
    """By address space and small page: the page that it is in."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self.at: dict[tuple[int, int], Page] = {}
        self.freed: list[tuple[int, int, int, int]] = []
        self.moved: list[tuple[int, int, int, int]] = []

    def enter(self, asid: int, page: Page) -> bool:
        """Map a page; False: it cannot be."""
        covered = [(asid, page.vpn + number) for number in range(page.pages)]
        if page.pages not in self.sizes or page.vpn % page.pages or page.pfn % page.pages:
            return False
        if any(key in self.at for key in covered):
            return False
        self.at.update(dict.fromkeys(covered, page))
        return True

    def leave(self, asid: int, page: Page) -> None:
        for number in range(page.pages):
            del self.at[asid, page.vpn + number]

    def free(self, asid: int, page: Page) -> None:
        """Its frames go back to where they came from."""
        if page.pfn < CHOSEN:
            self.freed.append((asid, page.vpn, page.pfn, page.pages))

    def replace(self, asid: int, old: Page, **new: Any) -> None:
        self.leave(asid, old)
        assert self.enter(asid, attrs.evolve(old, **new))

    def promote(self, asid: int, vpn: int, pages: int, pfn: int | None) -> bool:
        first = vpn - vpn % pages
        parts = [self.at.get((asid, first + number)) for number in range(pages)]
        found = [part for part in parts if part is not None]
        if len(found) < pages or found[0].pages >= pages:
            return False
        if len({part.writable for part in found}) > 1:
            return False
        frames = [part.pfn + first + n - part.vpn for n, part in enumerate(found)]
        if pfn is None and frames != list(range(frames[0], frames[0] + pages)):
            return False
        if (frames[0] if pfn is None else pfn) % pages:
            return False
        for part in dict.fromkeys(found):
            self.leave(asid, part)
            if pfn is not None:
                self.free(asid, part)
        start = frames[0] if pfn is None else pfn
        assert self.enter(asid, Page(first, pages, start, found[0].writable))
        return True


def make(page: int, levels: int = 4) -> tuple[PageTable, Told]:
    frames = Told((MEMORY - MEMORY // 64) // page)
    return PageTable(page, levels, [Memory(page, MEMORY, frames)] * 2), frames


asids = st.integers(0, 1)


@st.composite
def changes(draw: Any) -> tuple[int, list[tuple[Any, ...]]]:
    """A smallest page, and what happens to pages of two large ones and a few behind them."""
    page = draw(st.sampled_from([KIB4, KIB64, KIB64]))
    sizes = SIZES[page]
    largest = sizes[-1]
    vpns = st.one_of(
        st.integers(0, 2 * largest + 3),
        st.integers(0, 3),
        st.sampled_from([largest - 1, largest, 2 * largest]),
    )
    wrong = st.sampled_from([*sizes] * 6 + [2, 3, 2 * largest])
    frames = st.tuples(st.sampled_from([1, *sizes]), st.integers(0, 1))
    action = st.one_of(
        st.tuples(st.just("walk"), asids, vpns, st.sampled_from(sizes)),
        st.tuples(st.just("fill"), asids, vpns, st.sampled_from(sizes[1:])),
        st.tuples(st.just("map"), asids, vpns, wrong, frames, st.booleans()),
        st.tuples(st.just("unmap"), asids, vpns),
        st.tuples(st.just("remap"), asids, vpns, st.booleans()),
        st.tuples(st.just("protect"), asids, vpns, st.booleans()),
        st.tuples(
            st.just("promote"), asids, vpns, st.sampled_from(sizes), st.one_of(st.none(), frames)
        ),
    )
    return page, draw(st.lists(action, min_size=5, max_size=30))


class Both:
    """A page table and its oracle, which do the same."""

    def __init__(self, page: int) -> None:
        self.table, self.frames = make(page)
        self.naive = Naive(SIZES[page])
        self.chosen = CHOSEN
        largest = SIZES[page][-1]
        self.looked_at = [
            *range(40),
            *range(largest - 3, largest + 3),
            *range(2 * largest - 2, 2 * largest + 8),
        ]

    def choose(self, aligned: int, beside: int) -> int:
        """A frame that no page has had, `beside` one whose number is a multiple of `aligned`."""
        self.chosen = -(-self.chosen // aligned) * aligned + 1024
        return self.chosen - 1024 + beside

    def play(self, what: str, asid: int, vpn: int, *more: Any) -> None:
        getattr(self, f"_{what}")(asid, vpn, *more)
        self.compare()

    def compare(self) -> None:
        for asid in range(2):
            for vpn in self.looked_at:
                self._same(asid, vpn)
        freed = [one for one in self.frames.freed if one[2] < CHOSEN]
        moved = self.naive.moved  # frames that pages have left may be free or not
        assert [one for one in freed if one not in moved] == self.naive.freed
        assert len(set(freed)) == len(freed)

    def _same(self, asid: int, vpn: int) -> None:
        tag = asid << ASID_SHIFT | vpn
        mapping, page = self.table.find(tag), self.naive.at.get((asid, vpn))
        assert self.table.knows(tag) == (page is not None)
        if page is None:
            assert mapping is None
            return
        assert mapping is not None
        assert mapping is self.table.find(mapping.tag), "one mapping for all of a page"
        assert (mapping.asid, mapping.covers(tag)) == (asid, True)
        assert Page(mapping.vpn, mapping.pages, mapping.pfn, mapping.writable) == page
        assert mapping.frame(tag) == page.pfn + vpn - page.vpn == mapping.delta + vpn
        assert self.table.walk(asid, vpn).mapping is mapping
        assert self.table.writable(asid, vpn) == page.writable

    def _walk(self, asid: int, vpn: int, pages: int) -> None:
        old = self.naive.at.get((asid, vpn))
        self.frames.pages = pages
        if old is not None:
            before = self.table.find(asid << ASID_SHIFT | vpn)
            assert self.table.walk(asid, vpn).mapping is before
            return
        first = -(-self.frames.given // pages) * pages
        if self.naive.enter(asid, Page(vpn - vpn % pages, pages, first)):
            path = self.table.walk(asid, vpn)
            huge = pages * (self.table.page_shift == 12 or 16) >= 512
            assert len(path.entries) == len(path.prefixes) == self.table.levels - huge
        else:
            with pytest.raises(UserError, match="which is mapped"):
                self.table.walk(asid, vpn)

    def _fill(self, asid: int, vpn: int, pages: int) -> None:
        """Small pages side by side all over the range of a large one, as far as none is there."""
        self.frames.given = -(-self.frames.given // pages) * pages
        for page in range(vpn - vpn % pages, vpn - vpn % pages + pages):
            self._walk(asid, page, 1)

    def _map(self, asid: int, vpn: int, pages: int, frame: tuple[int, int], writable: bool) -> None:
        pfn = self.choose(*frame)
        before = self.table.mapped_pages
        if self.naive.enter(asid, Page(vpn, pages, pfn, writable)):
            mapping = self.table.map(asid, vpn, pfn, pages, writable=writable)
            assert mapping is self.table.find(asid << ASID_SHIFT | vpn)
            assert self.table.mapped_pages == before + 1
        else:
            with pytest.raises(UserError):
                self.table.map(asid, vpn, pfn, pages, writable=writable)
            assert self.table.mapped_pages == before

    def _unmap(self, asid: int, vpn: int) -> None:
        page = self.naive.at.get((asid, vpn))
        if page is None:
            with pytest.raises(UserError, match="not mapped"):
                self.table.unmap(asid, vpn)
            return
        mapping = self.table.find(asid << ASID_SHIFT | vpn)
        self.naive.leave(asid, page)
        self.naive.free(asid, page)
        assert self.table.unmap(asid, vpn) is mapping

    def _remap(self, asid: int, vpn: int, chosen: bool) -> None:
        page = self.naive.at.get((asid, vpn))
        if page is None:
            return
        path = self.table.walk(asid, vpn)
        self.frames.pages = page.pages
        pfn = self.choose(page.pages, 0) if chosen else None
        found = self.table.remap(asid, vpn, pfn)
        assert found == (self.frames.given - page.pages if pfn is None else pfn)
        self.naive.replace(asid, page, pfn=found)
        self.naive.moved.append((asid, page.vpn, page.pfn, page.pages))
        after = self.table.walk(asid, vpn)
        assert (after.entries, after.prefixes) == (path.entries, path.prefixes)
        assert after.mapping is not path.mapping

    def _protect(self, asid: int, vpn: int, writable: bool) -> None:
        page = self.naive.at.get((asid, vpn))
        if page is not None:
            self.table.protect(asid, vpn, writable=writable)
            self.naive.replace(asid, page, writable=writable)

    def _promote(self, asid: int, vpn: int, pages: int, frame: tuple[int, int] | None) -> None:
        pfn = None if frame is None else self.choose(*frame)
        could = self.naive.promote(asid, vpn, pages, pfn)
        mapping = self.table.promote(asid, vpn, pages, pfn)
        assert (mapping is not None) == could
        if mapping is not None:
            assert mapping is self.table.find(asid << ASID_SHIFT | vpn)


@given(changes())
def test_pages_of_several_sizes_are_those_of_a_dict(case: tuple[int, list[Any]]) -> None:
    page, actions = case
    both = Both(page)
    for action in actions:
        both.play(*action)


# -- by hand --------------------------------------------------------------------------------------


def walked(table: PageTable, frames: Told, vpn: int, pages: int) -> tuple[int, ...]:
    frames.pages = pages
    return table.walk(0, vpn).entries


@pytest.mark.parametrize("levels", [3, 4, 5])
def test_a_walk_of_a_huge_page_is_one_read_shorter(levels: int) -> None:
    table, frames = make(KIB4, levels)
    assert table.levels == levels
    assert len(walked(table, frames, 5, 1)) == levels
    assert len(walked(table, frames, 16, 16)) == levels
    assert len(walked(table, frames, 512, 512)) == levels - 1


def test_a_huge_page_is_an_entry_of_the_level_above() -> None:
    """In the table whose entries lead to the leaf tables, at the place of its own leaf table."""
    table, frames = make(KIB4)
    small = walked(table, frames, 511, 1)
    huge = walked(table, frames, 512, 512)
    behind = walked(table, frames, 1024, 1)
    assert huge[:2] == small[:2] == behind[:2]
    assert [huge[2] - small[2], behind[2] - huge[2]] == [8, 8]
    assert table.walk(0, 777).entries == huge, "every page in it"


def test_a_page_of_64_kib_is_the_first_of_its_16_entries() -> None:
    table, frames = make(KIB4)
    alone = walked(table, frames, 3, 1)
    large = [walked(table, frames, 16 * number, 16) for number in range(1, 4)]
    assert [entries[-1] - alone[-1] for entries in large] == [8 * (16 * n - 3) for n in (1, 2, 3)]
    assert table.walk(0, 16 + 15).entries == large[0]


def test_a_promoted_page_is_read_at_its_new_place() -> None:
    table, frames = make(KIB64)
    paths = [walked(table, frames, vpn, 1) for vpn in range(32)]
    assert table.promote(0, 7, 32) is not None
    promoted = table.walk(0, 31).entries
    assert promoted == paths[0][:-1], "the entry that led to its leaf table"
    assert table.walk(0, 0).prefixes[-1] == 0


def test_what_is_neither_mapped_nor_in_an_array_is_not_known() -> None:
    table, frames = make(KIB64)
    table.begin(0, [Buffer("b", 10 * KIB64 + 100, KIB64), Buffer("a", 3 * KIB64, 1)])
    frames.pages = 1
    known = [vpn for vpn in range(20) if table.knows(vpn)]
    assert known == [3, 10, 11]
    assert not any(table.knows(1 << ASID_SHIFT | vpn) for vpn in range(20))
    table.walk(0, 17)
    assert table.knows(17)
    assert table.find(3) is None, "an array is mapped when it is asked for"
    table.unmap(0, 17)
    assert not table.knows(17)


@pytest.mark.parametrize(
    ("page", "vpn", "pfn", "pages", "message"),
    [
        (KIB4, 8, 16, 16, "not aligned"),
        (KIB4, 16, 8, 16, "not aligned"),
        (KIB4, 0, 0, 2, "2 × 4 KiB cannot be; allowed: 4 KiB, 64 KiB and 2 MiB"),
        (KIB4, 0, 0, 32, "32 × 4 KiB cannot be"),
        (KIB64, 0, 0, 16, "16 × 64 KiB cannot be"),
        (KIB64, 0, 0, 0, "cannot be"),
        (MIB2, 0, 0, 512, "512 × 2048 KiB cannot be"),
        (KIB4, 1 << 36, 0, 1, "lies beyond the 36 bits of page number"),
        (KIB4, 1 << 36, 0, 512, "lies beyond the 36 bits of page number"),
    ],
)
def test_refused(page: int, vpn: int, pfn: int, pages: int, message: str) -> None:
    table, _ = make(page)
    with pytest.raises(UserError, match=message):
        table.map(0, vpn, pfn, pages)
    assert table.mapped_pages == 0
    assert table.find(vpn) is None


def test_a_page_over_others_is_refused_and_names_the_one_in_the_way() -> None:
    table, _ = make(KIB4)
    table.map(0, 20, 100)
    with pytest.raises(UserError, match=r"0x10 of 16 .* page 0x14 of address space 0 in frame 100"):
        table.map(0, 16, 0, 16)
    assert table.find(16) is None
    table.map(0, 32, 0, 16)
    with pytest.raises(UserError, match="of 16 pages of address space 0 in frame 0, which is map"):
        table.map(0, 47, 5)


def test_a_size_that_cannot_be_leaves_all_parts_as_they_are() -> None:
    table, frames = make(KIB4)
    paths = [walked(table, frames, vpn, 1) for vpn in range(8)]
    with pytest.raises(UserError, match="cannot be"):
        table.promote(0, 0, 8)
    assert [table.find(vpn) is not None for vpn in range(8)] == [True] * 8
    assert [table.walk(0, vpn).entries for vpn in range(8)] == paths


def test_a_large_page_does_not_move_to_frames_that_are_not_aligned() -> None:
    table, _ = make(KIB64)
    table.map(0, 0, 32, 32)
    with pytest.raises(UserError, match="aligned"):
        table.remap(0, 3, 33)
    assert table.translate(0, 3) == 35


def test_frames_that_two_pages_share_are_not_free_when_one_of_them_goes() -> None:
    table, frames = make(KIB4)
    frames.pages = 1
    table.walk(0, 1)
    shared = table.translate(0, 2)
    table.remap(0, 1, shared)
    table.unmap(0, 1)
    assert (0, 1, shared, 1) not in frames.freed
    table.unmap(0, 2)
    assert [pfn for *_, pfn, _ in frames.freed].count(shared) == 1


def test_frames_that_the_allocator_did_not_give_do_not_go_back_to_it() -> None:
    table, frames = make(KIB4)
    table.map(0, 7, 100)
    assert table.unmap(0, 7).pfn == 100
    assert frames.freed == []
