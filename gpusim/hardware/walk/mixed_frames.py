"""Pages of several sizes in one address space: each array has the largest that fit into it."""

from __future__ import annotations

from bisect import bisect_right
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

    Args:
        frames, seed: see `FrameAllocator`.
        largest: size of the largest page.
    """

    def __init__(self, frames: int, seed: int, *, largest: str = "2MiB") -> None:
        super().__init__(frames, seed)
        one_of(SIZES, largest=largest)
        self._largest = SIZES[largest]
        self._arrays: dict[int, list[tuple[int, int]]] = {}
        """By address space: first page of each array, and the page after its last one."""
        self._next = 0
        self._free: dict[int, list[int]] = {}
        """By size: first frames of pages of that size."""

    @property
    def most_pages(self) -> int:
        return self._sizes()[0]

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        page = self.page_bytes
        ends = sorted(
            (one.base // page, -(-(one.base + max(one.bytes, 1)) // page)) for one in arrays
        )
        self._arrays[asid] = apart = []
        last = 0
        for begin, end in ends:  # a page that two arrays share belongs to the first
            apart.append((max(begin, last), end))
            last = max(last, end)

    def allocate(self, asid: int, vpn: int) -> int | Frames:
        pages = self._size_at(asid, vpn)
        free = self._free.setdefault(pages, [])
        if not free:
            free += self._new_region(pages)
        pfn = free.pop(0)
        return pfn if pages == 1 else Frames(pfn, pages)

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        self._free.setdefault(pages, []).append(pfn)

    def _size_at(self, asid: int, vpn: int) -> int:
        """Smallest pages of the page that `vpn` is in: the largest that its array holds whole."""
        arrays = self._arrays.get(asid, [])
        index = bisect_right(arrays, vpn, key=lambda ends: ends[0]) - 1
        if index < 0:
            return 1
        begin, end = arrays[index]
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
