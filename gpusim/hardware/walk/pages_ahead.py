"""Pages that are mapped before their program starts, and that nothing has asked for yet.

An array of 40 GiB has ten million pages of 4 KiB, of which a run may touch a few thousand: runs of
them take no memory for each page.
"""

from __future__ import annotations

from typing import Final

from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.unboxed import IntDict
from gpusim.hardware.walk.page_path import PagePath

_STRETCH_SHIFT: Final = 21
"""Bytes of a stretch, as a power of two: those of the largest page that there is."""


class PageRun:
    """Neighbouring pages of one size in neighbouring frames.

    Attributes:
        first: tag of the first of the smallest pages; `end`: the one behind the last of them.
        pfn: the first frame.
        pages: how many of the smallest pages each page has.
    """

    __slots__ = ("end", "first", "pages", "pfn")

    def __init__(self, first: int, end: int, pfn: int, pages: int) -> None:
        self.first = first
        self.end = end
        self.pfn = pfn
        self.pages = pages


class _Stretch:
    """Pages of an aligned 2 MiB of an address space.

    Attributes:
        untouched: a bit for each of its smallest pages that is mapped and was not asked for.
        runs: of pages that were mapped ahead, asked for or not.
    """

    __slots__ = ("runs", "untouched")

    def __init__(self) -> None:
        self.untouched = 0
        self.runs: list[PageRun] = []

    def run_of(self, tag: int) -> PageRun:
        """The run that a page of it is in."""
        for run in self.runs:
            if run.first <= tag < run.end:
                return run
        raise KeyError(tag)


class PagesAhead:
    """Mapped pages by stretches, each page until it is taken out.

    Args:
        page_shift: bits of an address below the number of the smallest page.
    """

    def __init__(self, page_shift: int) -> None:
        self._bits = _STRETCH_SHIFT - page_shift
        self._pages = 1 << self._bits
        """Smallest pages of a stretch."""
        self._stretches: IntDict[_Stretch] = IntDict()
        """By tag of their first page, without the bits that are zero there."""

    def add(self, run: PageRun) -> None:
        """Put in a run of pages, none of which is mapped, within one stretch."""
        stretch = self._stretches.get(run.first >> self._bits)
        if stretch is None:
            stretch = self._stretches[run.first >> self._bits] = _Stretch()
        bits = (1 << run.end - run.first) - 1
        stretch.untouched |= bits << (run.first & self._pages - 1)
        last = stretch.runs[-1] if stretch.runs else None
        if last is None or not _continues(last, run):
            stretch.runs.append(run)
        else:
            last.end = run.end

    def unmapped(self, tag: int, most: int, others: IntDict[PagePath]) -> int:
        """How many pages from one on are not mapped, up to the end of its stretch.

        Args:
            tag: the first one.
            most: of them.
            others: pages that are mapped and not here, by tag.
        """
        most = min(most, self._pages - (tag & self._pages - 1))
        if not others and tag >> self._bits not in self._stretches:
            return most
        count = 0
        while count < most and tag + count not in others and not self.has(tag + count):
            count += 1
        return count

    def has(self, tag: int) -> bool:
        """Whether a page is there."""
        stretch = self._stretches.get(tag >> self._bits)
        return stretch is not None and stretch.untouched >> (tag & self._pages - 1) & 1 == 1

    def take(self, tag: int) -> Mapping | None:
        """Take out the page that a smallest page is in; None: it is not there."""
        stretch = self._stretches.get(tag >> self._bits)
        if stretch is None or not stretch.untouched >> (tag & self._pages - 1) & 1:
            return None
        run = stretch.run_of(tag)
        place = (tag - run.first) // run.pages * run.pages
        first = run.first + place
        stretch.untouched ^= ((1 << run.pages) - 1) << (first & self._pages - 1)
        if not stretch.untouched:
            del self._stretches[tag >> self._bits]
        return Mapping(first, run.pfn + place, run.pages)

    def tags(self, asid: int) -> list[int]:
        """All smallest pages of an address space that are there."""
        return [
            tag
            for key, stretch in self._stretches.items()
            if key >> (ASID_SHIFT - self._bits) == asid
            for run in stretch.runs
            for tag in range(run.first, run.end)
            if self.has(tag)
        ]


def _continues(last: PageRun, run: PageRun) -> bool:
    """Whether a run is the rest of another one."""
    same = last.pages == run.pages and last.pfn - last.first == run.pfn - run.first
    return same and last.end == run.first
