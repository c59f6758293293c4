"""A TLB that evicts the oldest entry: a hit is no reason to stay."""

from __future__ import annotations

from gpusim.config.schema import TlbConfig
from gpusim.core.registry import Slot, policy
from gpusim.core.request import NO_PAGE
from gpusim.hardware.tlb import TlbArray


@policy(Slot.TLB_ARRAY, "fifo")
class FifoArray(TlbArray):
    """`config.entries` translations, of which `reserve` stay empty."""

    def __init__(self, config: TlbConfig, *, reserve: int = 0) -> None:
        self._entries = config.entries - reserve
        self._pages: dict[int, int] = {}  # tag -> frame, oldest first

    def lookup(self, tag: int, slot: int) -> int:
        return self._pages.get(tag, NO_PAGE)

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        evicted = 0
        if tag not in self._pages and len(self._pages) >= self._entries:
            del self._pages[next(iter(self._pages))]
            evicted = 1
        self._pages[tag] = pfn
        return evicted

    def invalidate(self, tag: int) -> bool:
        return self._pages.pop(tag, None) is not None

    def flush(self) -> None:
        self._pages.clear()
