"""A set-associative TLB with LRU replacement, indexed by the low bits of the page number."""

from __future__ import annotations

from gpusim.config.schema import TlbConfig
from gpusim.registry import Slot, policy
from gpusim.request import NO_PAGE
from gpusim.tlb.array import TlbArray


@policy(Slot.TLB_ARRAY, "set-associative")
class SetAssociativeArray(TlbArray):
    """`entries` translations in sets of `ways`; ways = entries is fully associative.

    Each set is a dict from tag to frame, least recently used first.
    """

    __slots__ = ("_mask", "_sets", "_ways")

    def __init__(self, config: TlbConfig) -> None:
        sets = config.entries // config.ways
        self._ways = config.ways
        self._mask = sets - 1
        self._sets: list[dict[int, int]] = [{} for _ in range(sets)]

    def lookup(self, tag: int, slot: int) -> int:
        entries = self._sets[tag & self._mask]
        pfn = entries.pop(tag, NO_PAGE)
        if pfn != NO_PAGE:
            entries[tag] = pfn
        return pfn

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        entries = self._sets[tag & self._mask]
        evicted = 0
        if entries.pop(tag, NO_PAGE) == NO_PAGE and len(entries) >= self._ways:
            del entries[next(iter(entries))]
            evicted = 1
        entries[tag] = pfn
        return evicted

    def invalidate(self, tag: int) -> bool:
        return self._sets[tag & self._mask].pop(tag, NO_PAGE) != NO_PAGE

    def flush(self) -> None:
        for entries in self._sets:
            entries.clear()
