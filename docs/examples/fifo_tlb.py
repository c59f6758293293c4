"""A TLB that evicts the oldest entry: a hit is no reason to stay."""

from __future__ import annotations

from gpusim.plugin import Mapping, Slot, TlbArray, TlbConfig, policy


@policy(Slot.TLB_ARRAY, "fifo")
class FifoArray(TlbArray):
    """`config.entries` translations, of which `reserve` stay empty."""

    def __init__(self, config: TlbConfig, *, reserve: int = 0) -> None:
        self._entries = config.entries - reserve
        self._pages: dict[int, Mapping] = {}  # by tag, oldest first

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        return self._pages.get(tag)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        evicted = 0
        if tag not in self._pages and len(self._pages) >= self._entries:
            del self._pages[next(iter(self._pages))]
            evicted = 1
        self._pages[tag] = mapping
        return evicted

    def invalidate(self, tag: int) -> bool:
        return self._pages.pop(tag, None) is not None

    def flush(self) -> None:
        self._pages.clear()
