"""Pages of several sizes in one address space: each array has the largest that fit into it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from gpusim.core.errors import one_of
from gpusim.core.registry import Slot, register_policy
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk.frames import FrameAllocator, Frames

SIZES = {"4KiB": 4 << 10, "64KiB": 64 << 10, "2MiB": 2 << 20}
"""Sizes of pages that a page table can map, in bytes."""


class LargestFitFrames(FrameAllocator):
    """A page is the largest one that lies wholly inside its array, as operating systems do it.

    So an array of 5 MiB has two pages of 2 MiB, or one, and smaller ones at its ends.  Each size
    has regions of the largest size of its own [our choice], which are never given back to others.

    Where pages come on demand, the frames of the largest page are set aside when the first of its
    parts comes; parts that have come become a page of 64 KiB, and of 2 MiB, where they lie.

    Args:
        frames, seed: see `FrameAllocator`.
        largest: size of the largest page.
    """

    def __init__(self, frames: int, seed: int, *, largest: str = "2MiB") -> None:
        super().__init__(frames, seed)
        one_of(SIZES, largest=largest)
        self._largest = SIZES[largest]
        self._arrays: dict[int, list[tuple[int, int, int]]] = {}
        """By address space: first page of each array, the page after its last one, and pages of a
        piece of one whose program maps it piece by piece (0: it is a whole)."""
        self._next = 0
        self._free: dict[int, list[int]] = {}
        """By size: first frames of pages of that size."""
        self._set_aside: dict[tuple[int, int], int] = {}
        """By address space and first page: first frame of a page whose parts come on demand."""
        self._parts: Counter[tuple[int, int]] = Counter()
        """By the same: how many of its parts are there."""

    @property
    def most_pages(self) -> int:
        return self._sizes()[0]

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        page = self.page_bytes
        ends = sorted(
            (one.base // page, -(-(one.base + max(one.bytes, 1)) // page), one.piece // page)
            for one in arrays
        )
        self._arrays[asid] = apart = []
        last = 0
        for begin, end, piece in ends:  # a page that two arrays share belongs to the first
            apart.append((max(begin, last), end, piece))
            last = max(last, end)

    def wholes(self, asid: int, vpn: int) -> Sequence[int]:
        largest = self._size_at(asid, vpn)
        return [pages for pages in self._sizes()[::-1] if 1 < pages <= largest]

    def allocate(self, asid: int, vpn: int) -> int | Frames:
        pages = self._size_at(asid, vpn)
        if pages == 1:
            return self._take(1)
        if not self.on_demand:
            return Frames(self._take(pages), pages)
        place = asid, vpn // pages * pages
        first = self._set_aside.get(place)
        if first is None:
            first = self._set_aside[place] = self._take(pages)
        self._parts[place] += 1
        return first + vpn % pages

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        size = self._size_at(asid, vpn)
        place = asid, vpn // size * size
        if place not in self._set_aside:
            self._free.setdefault(pages, []).append(pfn)
            return
        self._parts[place] -= pages
        if not self._parts[place]:
            del self._parts[place]
            self._free[size].append(self._set_aside.pop(place))

    def _take(self, pages: int) -> int:
        """First frame of a free page of a size."""
        free = self._free.setdefault(pages, [])
        if not free:
            free += self._new_region(pages)
        return free.pop(0)

    def _size_at(self, asid: int, vpn: int) -> int:
        """Smallest pages of the page that `vpn` is in: the largest that its array holds whole."""
        arrays = self._arrays.get(asid, [])
        index = bisect_right(arrays, vpn, key=lambda ends: ends[0]) - 1
        if index < 0:
            return 1
        begin, end, piece = arrays[index]
        if piece:
            begin += (vpn - begin) // piece * piece
            end = min(end, begin + piece)
        for pages in self._sizes():
            first = vpn // pages * pages
            if begin <= first and first + pages <= end:
                return pages
        return 1

    def _sizes(self) -> list[int]:
        """Smallest pages of the sizes that there are, the largest size first."""
        sizes = (size for size in SIZES.values() if self.page_bytes <= size <= self._largest)
        return [size // self.page_bytes for size in sizes][::-1] or [1]

    def _new_region(self, pages: int) -> Sequence[int]:
        """First frames of the pages of one size in a region of the largest size."""
        region = self._sizes()[0]
        if self._next + region > self.frames:
            raise self.memory_full()
        first = self._next
        self._next += region
        return range(first, first + region, pages)


register_policy(Slot.FRAMES, "largest-fit", LargestFitFrames)
