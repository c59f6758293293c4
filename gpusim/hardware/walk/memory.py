"""The physical memory that some address spaces share: frames from below, page tables from above."""

from __future__ import annotations

from typing import Final

from gpusim.core.errors import UserError
from gpusim.hardware.walk.frames import FrameAllocator, FrameRun, Frames

TABLE_BYTES: Final = 4096


class Memory:
    """A range of physical addresses; the two kinds of pages in it never meet.

    Args:
        page_bytes: of a frame.
        size: bytes of it.
        frames: allocator of data frames, which it counts from 0.
        base: its first address, a multiple of the page.
        ahead: whether arrays are mapped before their application starts, whatever the allocator.
    """

    def __init__(
        self,
        page_bytes: int,
        size: int,
        frames: FrameAllocator,
        base: int = 0,
        *,
        ahead: bool = False,
    ) -> None:
        self.eager = frames.eager or ahead
        """Whether arrays are mapped before their application starts, in allocation order."""
        self.allocator = frames
        frames.page_bytes = page_bytes
        most = frames.most_pages
        self._first_frame = -(-base // page_bytes // most) * most
        self._data_end = (self._first_frame + frames.frames) * page_bytes
        self._next_table = base + size

    def new_frames(self, asid: int, vpn: int) -> Frames:
        """Free frames for the page that `vpn` is in, numbered among all of the GPU.

        Raises:
            UserError: all are in use, or the policy hands out what is not there.
        """
        given = self.allocator.allocate(asid, vpn)
        frames = given if isinstance(given, Frames) else Frames(given, 1)
        self._check(vpn, frames.pfn, frames.pages)
        return Frames(self._first_frame + frames.pfn, frames.pages)

    def new_run(self, asid: int, vpn: int, most: int) -> FrameRun:
        """Free frames for the page that `vpn` is in, and for those behind it if they continue it.

        Args:
            asid: the address space.
            vpn: its page.
            most: how many of the smallest pages from it on are wanted, none of which has a frame.

        Raises:
            UserError: as `new_frames` does.
        """
        run = self.allocator.allocate_run(asid, vpn, most)
        self._check(vpn, run.pfn, run.count * run.pages)
        return FrameRun(self._first_frame + run.pfn, run.count, run.pages)

    def _check(self, vpn: int, pfn: int, count: int) -> None:
        """Raise a `UserError` if an allocator has given a page frames that are not there."""
        if pfn < 0 or pfn + count > self.allocator.frames:
            raise UserError(
                f"memory.frames: {type(self.allocator).__name__} gave page {vpn:#x} frames "
                f"{pfn} to {pfn + count - 1}; allowed: 0 to {self.allocator.frames - 1}"
            )

    def has_frame(self, pfn: int) -> bool:
        """Whether a frame, numbered among all of the GPU, is one of this memory."""
        return 0 <= pfn - self._first_frame < self.allocator.frames

    def free(self, asid: int, vpn: int, pfn: int, pages: int) -> None:
        """Frames from `pfn` on, numbered among all of the GPU, are no longer in use."""
        self.allocator.free(asid, vpn, pfn - self._first_frame, pages)

    def new_table(self) -> int:
        """Physical address of a free page for a page table.

        Raises:
            UserError: there is no room.
        """
        return self.reserve(TABLE_BYTES)

    def reserve(self, size: int) -> int:
        """Take `size` bytes, in whole pages of 4 KiB, for tables; returns their first address.

        Raises:
            UserError: there is no room.
        """
        size = -(-size // TABLE_BYTES) * TABLE_BYTES
        if self._next_table - size < self._data_end:
            raise UserError(
                "physical memory has no room for page tables; raise memory.size "
                f"({size} bytes are wanted, {self._next_table - self._data_end} are free)"
            )
        self._next_table -= size
        return self._next_table
