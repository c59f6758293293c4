"""Device memories under demand paging: their room, their blocks of pages, and which is evicted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT
from gpusim.hardware.paging.eviction import Eviction


class DeviceMemory:
    """Pages of arrays on the device, by the blocks in which they leave.

    Args:
        room: pages that fit; None: any number.
        block_pages: pages of a block.
        eviction: which block goes.
        gpu: whose it is.

    Attributes:
        used: pages that are there, or for which room is kept.
        written: pages there that were stored to.
        blocks: by number, the pages of each block that are there, blocks in the order of their
            first page.
    """

    def __init__(
        self, room: int | None, block_pages: int, eviction: Eviction, gpu: int = 0
    ) -> None:
        self.room = room
        self.gpu = gpu
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

    def count_pages(self) -> int:
        """How many pages are there."""
        return sum(map(len, self.blocks.values()))

    def pages(self) -> Iterator[int]:
        """All pages that are there."""
        for pages in self.blocks.values():
            yield from pages


class DeviceMemories:
    """The device memories of a machine.

    Args:
        by_gpu: by GPU and application, the memory that its pages lie in there; applications may
            share one.
        place: the GPU in whose memory a page will lie that a GPU asks for.

    Attributes:
        all: each once.
    """

    def __init__(
        self, by_gpu: Sequence[Sequence[DeviceMemory]], place: Callable[[int, int], int]
    ) -> None:
        self.all = list(dict.fromkeys(one for memories in by_gpu for one in memories))
        self._by_gpu = by_gpu
        self._place = place

    def home(self, tag: int, gpu: int) -> DeviceMemory:
        """The memory that a page comes to if a GPU asks for it."""
        return self._by_gpu[self._place(tag, gpu)][tag >> ASID_SHIFT]

    def of_app(self, app: int) -> Iterator[DeviceMemory]:
        """Those in which pages of an application may lie."""
        for memories in self._by_gpu:
            yield memories[app]

    def has_room(self, tag: int, pages: int, gpu: int) -> bool:
        """Whether a GPU has room for a page of `pages` small ones."""
        memory = self._by_gpu[gpu][tag >> ASID_SHIFT]
        return memory.room is None or memory.free() >= pages

    def moved(self, tag: int, pages: int, gpu: int) -> None:
        """A page has moved from the memory of one GPU to that of another one."""
        target = self._by_gpu[gpu][tag >> ASID_SHIFT]
        for part in range(tag, tag + pages):
            source = self.holding(part)
            if source is None:  # the device's own, in no books
                continue
            if part in source.written:
                target.written.add(part)
            source.discard(part)
            target.reserve(1)
            target.add(part)
            target.came(target.block_of(part))

    def of_access(self, tag: int) -> DeviceMemory | None:
        """The memory whose books an access to a page concerns; None: those of none."""
        only = len(self._by_gpu) == 1
        return self._by_gpu[0][tag >> ASID_SHIFT] if only else self.holding(tag)

    def holding(self, tag: int) -> DeviceMemory | None:
        """The memory that a page is in; None: it is in none."""
        for memories in self._by_gpu:
            memory = memories[tag >> ASID_SHIFT]
            if memory.holds(tag):
                return memory
        return None
