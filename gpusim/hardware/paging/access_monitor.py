"""The way out of an SM, on which the driver's books see what is stored to and what is used."""

from __future__ import annotations

from typing import Final

from gpusim.core.engine import Sink, Wakeable
from gpusim.core.request import Kind, MemoryRequest
from gpusim.hardware.paging.device_memory import DeviceMemories

_LOAD: Final = int(Kind.LOAD)
_WALK: Final = int(Kind.WALK)


class WatchedWay(Sink):
    """Passes requests on, and notes their pages.

    Args:
        way: where they go.
        memories: the device memories.
        counts: whether eviction policies want to know what is used.
    """

    def __init__(self, way: Sink, memories: DeviceMemories, counts: bool) -> None:
        self.name = way.name
        self._way = way
        self._memories = memories
        self._counts = counts

    @property
    def full(self) -> bool:
        return self._way.full

    def when_free(self, sender: Wakeable) -> None:
        self._way.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        if item.kind != _WALK:
            self._note(item)
        self._way.send(item, extra_cycles)

    def _note(self, access: MemoryRequest) -> None:
        """Note the page of an access of an SM."""
        stores = access.kind != _LOAD
        if not stores and not self._counts:
            return
        memory = self._memories.of_access(access.tag)
        if memory is not None:
            if stores and memory.holds(access.tag):
                memory.written.add(access.tag)
            if self._counts:
                memory.accessed(access.tag)
