"""Frame allocation: which physical frame a page gets, and how large it is.

Compression, DRAM rows and the reach of TLBs depend on it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.warp_program import Buffer

_REGION = 2 << 20


@frozen
class Frames:
    """Frames side by side for one large page.

    Attributes:
        pfn: the first one.
        pages: how many of the smallest pages the page has: 16 for 64 KiB and 512 for 2 MiB over
            pages of 4 KiB, 32 for 2 MiB over pages of 64 KiB.
    """

    pfn: int
    pages: int


@frozen
class FrameRun:
    """Frames side by side for neighbouring pages.

    Attributes:
        pfn: the first one.
        count: pages.
        pages: how many of the smallest pages each of them has.
    """

    pfn: int
    count: int
    pages: int = 1


class FrameAllocator(Policy):
    """Hands out the frames ``0 .. frames - 1`` of one memory, none of them twice at a time.

    Frames are counted in the smallest pages of the machine (``memory.page``).

    Args:
        frames: number of data frames in this memory.
        seed: of the run, for policies that draw.

    Attributes:
        eager: whether an application's arrays are mapped before it starts, in allocation order.
        page_bytes: of the smallest pages; known before the first call of `begin`.
        on_demand: whether pages come one by one, so that each has a frame of its own at first.
    """

    eager: bool = False
    page_bytes: int = 0
    on_demand: bool = False

    @property
    def most_pages(self) -> int:
        """How many of the smallest pages its largest page has; its memory is aligned to that."""
        return 1

    def __init__(self, frames: int, seed: int) -> None:
        self.frames = frames
        self.seed = seed

    def begin(self, asid: int, arrays: Sequence[Buffer]) -> None:
        """An application begins: these are its arrays, as far as it names any."""

    def wholes(self, asid: int, vpn: int) -> Sequence[int]:
        """Sizes of the pages that pages which came one by one may make around `vpn`, by and by.

        Sizes are in the smallest pages, the smallest size first.
        """
        return ()

    @abstractmethod
    def allocate(self, asid: int, vpn: int) -> int | Frames:
        """The frame of a page that has none, or frames for the larger page around it.

        `Frames` of *n* pages are for the pages from ``vpn // n * n`` on, of which none is mapped
        yet; their first frame is a multiple of *n*.

        Raises:
            UserError: physical memory is full (`memory_full`).
        """

    def allocate_run(self, asid: int, vpn: int, most: int) -> FrameRun:
        """What `allocate` would give the pages from `vpn` on, one after the other.

        It gives the first of them frames, and those behind it as long as theirs follow; a class
        that can say so at once maps large arrays quickly.

        Args:
            asid: the address space.
            vpn: the first page.
            most: how many pages from it on have no frame, and are wanted.

        Raises:
            UserError: physical memory is full.
        """
        given = self.allocate(asid, vpn)
        frames = given if isinstance(given, Frames) else Frames(given, 1)
        return FrameRun(frames.pfn, 1, frames.pages)

    @abstractmethod
    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        """The page with these frames is no longer mapped; they may be handed out again."""

    def memory_full(self) -> UserError:
        """What to raise where there is no frame left."""
        return UserError(
            f"physical memory is full: all {self.frames} frames are in use; "
            "raise memory.size or run a smaller program"
        )


open_slot(Slot.FRAMES, FrameAllocator, "frames", "seed")


class FramesInOrder(FrameAllocator):
    """Small pages whose frames follow some order; freed frames come back when it has ended."""

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self._used = 0
        self._freed: list[int] = []

    def allocate(self, asid: int, vpn: int) -> int:
        if self._used < self.frames:
            self._used += 1
            return self._nth(self._used - 1)
        if self._freed:
            return self._freed.pop(0)
        raise self.memory_full()

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        self._freed += range(pfn, pfn + pages)

    @abstractmethod
    def _nth(self, index: int) -> int:
        """The frame handed out as number `index`."""


class FirstTouchFrames(FramesInOrder):
    """Frames in the order in which pages are first walked."""

    def allocate_run(self, asid: int, vpn: int, most: int) -> FrameRun:
        first = self._used
        if first == self.frames:
            return super().allocate_run(asid, vpn, most)
        self._used = min(first + most, self.frames)
        return FrameRun(first, self._used - first)

    def _nth(self, index: int) -> int:
        return index


register_policy(Slot.FRAMES, "first-touch", FirstTouchFrames)


class ContiguousFrames(FirstTouchFrames):
    """Frames in the order of the arrays: neighbouring pages have neighbouring frames."""

    eager = True


register_policy(Slot.FRAMES, "contiguous", ContiguousFrames)


class ScatteredFrames(FramesInOrder):
    """A seeded random permutation of all frames."""

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self._order = np.random.default_rng(seed).permutation(frames)

    def _nth(self, index: int) -> int:
        return int(self._order[index])


register_policy(Slot.FRAMES, "scattered", ScatteredFrames)


class RegionFrames(FrameAllocator):
    """Frames of one region of 2 MiB for each aligned 2 MiB of an address space, in the same order.

    Regions are handed out from the lowest on, as an application's arrays are allocated; none
    holds pages of two applications, and one comes back when the last of its pages is unmapped.
    So does the simulator that the authors of MASK released.
    """

    eager = True

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self._next = 0
        self._free: list[int] = []
        self._regions: dict[tuple[int, int], int] = {}
        """First frame of each region, by address space and number of its 2 MiB there."""
        self._mapped: Counter[tuple[int, int]] = Counter()

    def allocate(self, asid: int, vpn: int) -> int:
        pages = self._pages()
        place = asid, vpn // pages
        first = self._regions.get(place)
        if first is None:
            first = self._regions[place] = self._new_region(pages)
        self._mapped[place] += 1
        return first + vpn % pages

    def allocate_run(self, asid: int, vpn: int, most: int) -> FrameRun:
        pages = self._pages()
        first = self.allocate(asid, vpn)
        count = min(most, pages - vpn % pages)
        self._mapped[asid, vpn // pages] += count - 1
        return FrameRun(first, count)

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        place = asid, vpn // self._pages()
        self._mapped[place] -= pages
        if not self._mapped[place]:
            self._free.append(self._regions.pop(place))

    def _pages(self) -> int:
        return max(_REGION // self.page_bytes, 1)

    def _new_region(self, pages: int) -> int:
        if self._free:
            return self._free.pop(0)
        if self._next + pages > self.frames:
            raise self.memory_full()
        self._next += pages
        return self._next - pages


register_policy(Slot.FRAMES, "region", RegionFrames)


class MosaicFrames(RegionFrames):
    """Frames of regions, so aligned that a region can become one page without a copy (`Coalescer`).

    Mosaic's contiguity-conserving allocation: pages that are allocated together and would make a
    large page get the frames of one.  A region that an application does not fill stays its own
    [our choice, as the simulator that the authors released: the paper gives the rest of it away].

    Args:
        frames, seed: see `FrameAllocator`.
        ahead: arrays are mapped before their application starts; else pages when they are first
            used.
    """

    def __init__(self, frames: int, seed: int, *, ahead: bool = True) -> None:
        super().__init__(frames, seed)
        self.eager = ahead

    @property
    def most_pages(self) -> int:
        return self._pages()


register_policy(Slot.FRAMES, "mosaic", MosaicFrames)
