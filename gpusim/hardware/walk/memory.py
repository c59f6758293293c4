"""The physical memory that some address spaces share: frames from below, page tables from above."""

from __future__ import annotations

from gpusim.core.errors import UserError
from gpusim.hardware.walk.frames import FrameAllocator

TABLE_BYTES = 4096


class Memory:
    """A range of physical addresses; the two kinds of pages in it never meet.

    Args:
        page_bytes: of a frame.
        size: bytes of it.
        frames: allocator of data frames, which it counts from 0.
        base: its first address, a multiple of the page.
    """

    def __init__(self, page_bytes: int, size: int, frames: FrameAllocator, base: int = 0) -> None:
        self.eager = frames.eager
        """Whether arrays are mapped before their application starts, in allocation order."""
        self._frames = frames
        self._first_frame = base // page_bytes
        self._data_end = base + frames.frames * page_bytes
        self._next_table = base + size

    def new_frame(self) -> int:
        """Number of a free frame, among all of the GPU.

        Raises:
            UserError: all are in use.
        """
        return self._first_frame + self._frames.allocate()

    def new_table(self) -> int:
        """Physical address of a free page for a page table.

        Raises:
            UserError: there is no room.
        """
        if self._next_table - TABLE_BYTES < self._data_end:
            raise UserError("physical memory has no room for page tables; raise memory.size")
        self._next_table -= TABLE_BYTES
        return self._next_table
