"""The way out of an SM, on which the driver's books see what is stored to and what is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpusim.core.engine import Sink, Wakeable
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.request import Kind, MemoryRequest
from gpusim.hardware.paging.device_memory import DeviceMemory

_LOAD: Final = int(Kind.LOAD)
_WALK: Final = int(Kind.WALK)


class WatchedWay(Sink):
    """Passes requests on, and notes their pages.

    Args:
        way: where they go.
        memory_of: by application, the device memory that its pages lie in.
        counts: whether eviction policies want to know what is used.
    """

    def __init__(self, way: Sink, memory_of: Sequence[DeviceMemory], counts: bool) -> None:
        self.name = way.name
        self._way = way
        self._memory_of = memory_of
        self._counts = counts

    @property
    def full(self) -> bool:
        return self._way.full

    def when_free(self, sender: Wakeable) -> None:
        self._way.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        if item.kind != _WALK:
            memory = self._memory_of[item.tag >> ASID_SHIFT]
            if item.kind != _LOAD and memory.holds(item.tag):
                memory.written.add(item.tag)
            if self._counts:
                memory.accessed(item.tag)
        self._way.send(item, extra_cycles)
