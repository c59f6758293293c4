"""A device memory under demand paging: its room, its blocks of pages, and which is evicted."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpusim.core.errors import UserError
from gpusim.hardware.paging.eviction import Eviction


class DeviceMemory:
    """Pages of arrays on the device, by the blocks in which they leave.

    Args:
        room: pages that fit; None: any number.
        block_pages: pages of a block.
        eviction: which block goes.

    Attributes:
        used: pages that are there, or for which room is kept.
        written: pages there that were stored to.
        blocks: by number, the pages of each block that are there, blocks in the order of their
            first page.
    """

    def __init__(self, room: int | None, block_pages: int, eviction: Eviction) -> None:
        self.room = room
        self.eviction = eviction
        self.used = 0
        self.written: set[int] = set()
        self.blocks: dict[int, dict[int, None]] = {}
        self._block_pages = block_pages

    def free(self) -> int:
        """Pages for which there is room now, if it is limited."""
        assert self.room is not None
        return self.room - self.used

    def reserve(self, pages: int) -> None:
        """Keep room for pages that are under way."""
        self.used += pages

    def add(self, tag: int) -> None:
        """A page for which room was kept is there now."""
        self.blocks.setdefault(self.block_of(tag), {})[tag] = None

    def came(self, block: int) -> None:
        """Pages of a block have come."""
        self.eviction.arrived(block)

    def remove(self, block: int) -> list[int]:
        """The pages of a block go, and their room with them; returns them in order."""
        pages = sorted(self.blocks.pop(block))
        self.used -= len(pages)
        self.eviction.left(block)
        return pages

    def discard(self, tag: int) -> None:
        """A page has gone by itself."""
        block = self.block_of(tag)
        del self.blocks[block][tag]
        self.written.discard(tag)
        self.used -= 1
        if not self.blocks[block]:
            del self.blocks[block]
            self.eviction.left(block)

    def victim(self, spared: Collection[int]) -> int | None:
        """The block that goes, none of those that are spared; None: there is no other.

        Raises:
            UserError: the policy chose what it may not.
        """
        candidates = [block for block in self.blocks if block not in spared]
        if not candidates:
            return None
        chosen = self.eviction.choose(candidates)
        if chosen not in self.blocks or chosen in spared:
            raise UserError(
                f"paging.eviction: {type(self.eviction).__qualname__} chose block {chosen!r}; "
                f"allowed: one of the {len(candidates)} that it was shown"
            )
        return chosen

    def accessed(self, tag: int) -> None:
        """A request for a line of a page has left an SM."""
        self.eviction.accessed(self.block_of(tag))

    def block_of(self, tag: int) -> int:
        """The block that a page belongs to."""
        return tag // self._block_pages

    def holds(self, tag: int) -> bool:
        """Whether a page is there."""
        return tag in self.blocks.get(self.block_of(tag), ())

    def pages(self) -> Iterator[int]:
        """All pages that are there."""
        for pages in self.blocks.values():
            yield from pages
