"""A TLB whose entries map several neighbouring pages (STAR §II: 16 × 64 KiB in 1 MiB)."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.config.schema import TlbConfig
from gpusim.core.registry import Slot, policy
from gpusim.core.request import NO_PAGE
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.utilisation import EvictedEntries


@policy(Slot.TLB_ARRAY, "sub-entry")
class SubEntryArray(TlbArray):
    """`entries` entries in sets of `ways`, each with `sub_entries` pages of one aligned range.

    A page number is, from its low bits up, sub-index, set index and virtual page base.  A hit
    needs the entry of the base and a valid sub-entry; a missing sub-entry is filled into the entry
    if that is there, else the least recently used entry goes with all its pages.
    """

    __slots__ = ("_entries", "_mask", "_sets", "_shift", "_ways", "evicted")

    def __init__(self, config: TlbConfig) -> None:
        sets = config.entries // config.ways
        self._entries = config.entries
        self._ways = config.ways
        self._mask = sets - 1
        self._shift = config.sub_entries.bit_length() - 1
        self._sets: list[dict[int, dict[int, int]]] = [{} for _ in range(sets)]
        self.evicted = EvictedEntries(config.sub_entries)

    def lookup(self, tag: int, slot: int) -> int:
        base = tag >> self._shift
        entries = self._sets[base & self._mask]
        pages = entries.get(base)
        if pages is None:
            return NO_PAGE
        pfn = pages.get(tag, NO_PAGE)
        if pfn != NO_PAGE:
            entries[base] = entries.pop(base)
        return pfn

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        base = tag >> self._shift
        entries = self._sets[base & self._mask]
        pages = entries.pop(base, None)
        evicted = 0
        if pages is None:
            pages = {}
            if len(entries) >= self._ways:
                victim = next(iter(entries))
                self.evicted.add(victim << self._shift, len(entries.pop(victim)))
                evicted = 1
        pages[tag] = pfn
        entries[base] = pages
        return evicted

    def invalidate(self, tag: int) -> bool:
        base = tag >> self._shift
        entries = self._sets[base & self._mask]
        pages = entries.get(base)
        if pages is None or pages.pop(tag, NO_PAGE) == NO_PAGE:
            return False
        if not pages:
            del entries[base]
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "valid and dirty bits": 2,
            "base of pages": dimensions.page_bits - self._shift - bits_for(len(self._sets)),
            "frames": dimensions.frame_bits << self._shift,
        }
        return [Storage("entries", self._entries, fields)]

    def flush(self) -> None:
        for entries in self._sets:
            entries.clear()

    def counters_of(self, asid: int) -> tuple[object, ...]:
        return (self.evicted.counters_of(asid),)
