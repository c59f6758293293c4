"""Placement of pages: on the device, on the host, or on the host and mapped all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.stage import Pages
from gpusim.hardware.paging.device_memory import DeviceMemories, DeviceMemory
from gpusim.hardware.paging.host import HOST_BASE


class Placement:
    """Maps and unmaps pages, and invalidates their translations and lines everywhere.

    Args:
        pages: the pages of all address spaces.
        map_new: maps a page that is not mapped to a free frame of a GPU.
        memories: the device memories.
        stays: whether a page stays with the host, whatever happens.
        remote: whether all pages are with the host until something else moves them.
        drop: forgets the lines of a frame, which has another page now.
    """

    def __init__(
        self,
        pages: Pages,
        map_new: Callable[[int, int], Mapping],
        memories: DeviceMemories,
        stays: Callable[[int], bool],
        remote: bool,
        drop: Callable[[Mapping], None],
    ) -> None:
        self._pages = pages
        self._map_new = map_new
        self._memories = memories
        self._first_host_frame = HOST_BASE // pages.page_bytes
        self._stays = stays
        self._remote = remote
        self._drop = drop
        self._host_frames: dict[int, int] = {}
        self._host_pages: list[int] = []
        self._placed: Counter[int] = Counter()
        self._taken: Counter[int] = Counter()

    # -- what there is ----------------------------------------------------------------------------

    def there(self, tag: int) -> bool:
        """Whether a walk of a page finds it."""
        return self._pages.find(tag) is not None

    def is_remote(self, tag: int) -> bool:
        """Whether a walk of a page finds it in the host's memory."""
        mapping = self._pages.find(tag)
        return mapping is not None and mapping.pfn >= self._first_host_frame

    def moves(self, tag: int) -> bool:
        """Whether a page comes to the device when it is asked for."""
        return not self._remote and not self._stays(tag)

    def may_come(self, tag: int) -> bool:
        """Whether a page is one that could come to the device with others."""
        return self._pages.knows(tag) and self.moves(tag)

    def may_migrate(self, tag: int) -> bool:
        """Whether a page is read over the link, and could come to the device."""
        return self.is_remote(tag) and not self._stays(tag)

    def host_page(self, frame: int) -> int:
        """The page that was given a frame of the host's memory."""
        return self._host_pages[frame - self._first_host_frame]

    def count(self, app: int) -> tuple[int, int, int]:
        """Pages of an application placed at first, there now, and taken away by events."""
        there = (tag for memory in self._memories.of_app(app) for tag in memory.pages())
        mine = [tag for tag in there if tag >> ASID_SHIFT == app]
        resident = sum(self.there(tag) and not self.is_remote(tag) for tag in mine)
        return self._placed[app], resident, self._taken[app] + len(mine) - resident

    # -- changes ----------------------------------------------------------------------------------

    def bring(self, tag: int, gpu: int) -> None:
        """A page has come: it is mapped to a free frame of a GPU."""
        self._drop(self._map_new(tag, gpu))

    def place(self, tag: int, memory: DeviceMemory) -> None:
        """A page is on the device from the beginning."""
        memory.reserve(1)
        memory.add(tag)
        memory.came(memory.block_of(tag))
        self._map_new(tag, memory.gpu)
        self._placed[tag >> ASID_SHIFT] += 1

    def own(self, tag: int) -> None:
        """A page is the device's own: it is there from the beginning, and no block has it."""
        self._map_new(tag, self._memories.home(tag, 0).gpu)

    def map_remote(self, tag: int) -> None:
        """A page is read and written over the link from now on."""
        if tag not in self._host_frames:
            self._host_frames[tag] = self._first_host_frame + len(self._host_pages)
            self._host_pages.append(tag)
        self._pages.map(tag, self._host_frames[tag])

    def take_away(self, tag: int) -> None:
        """A page is not mapped any more, and its lines are nowhere."""
        self._drop(self._pages.unmap(tag))

    def forget(self, tags: Sequence[int]) -> list[int]:
        """Pages of the device go to the host; returns those that no event has taken away before.

        A large page goes with all of its parts, which must be among them.
        """
        gone: dict[int, None] = {}
        for tag in tags:
            if tag in gone:
                continue
            if not self.there(tag):
                self._taken[tag >> ASID_SHIFT] += 1
                continue
            mapping = self._pages.unmap(tag)
            self._drop(mapping)
            parts = range(mapping.tag, mapping.tag + mapping.pages)
            gone.update(dict.fromkeys(parts))
            if self._remote:
                for part in parts:
                    self.map_remote(part)
        return list(gone)

    def join(self, first: int, pages: int) -> None:
        """Make one large page of pages that have come, if their frames allow it."""
        self._pages.coalesce(first, pages)

    def forget_if_taken(self, tag: int) -> None:
        """Learn that an event has taken a page away from the device."""
        memory = self._memories.holding(tag)
        if memory is not None and not self.there(tag):
            memory.discard(tag)
            self._taken[tag >> ASID_SHIFT] += 1
