"""A TLB whose entries map several neighbouring pages (STAR §II: 16 × 64 KiB in 1 MiB)."""

from __future__ import annotations

from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement import make_replacement, victim_of
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.utilisation import EvictedEntries


@mypyc_attr(allow_interpreted_subclasses=True)
class SubEntryArray(TlbArray):
    """`entries` entries in sets of `ways`, each with `sub_entries` pages of one aligned range.

    A page number is, from its low bits up, sub-index, set index and virtual page base.  A hit
    needs the entry of the base and a valid sub-entry; a missing sub-entry is filled into the entry
    if that is there, else the entry that the replacement policy names goes with all its pages.
    A page larger than a sub-entry fills the one sub-entry that was asked for.
    """

    replaces = True
    hashable = True
    spills = True

    def __init__(self, config: TlbConfig) -> None:
        sets = config.entries // config.ways
        self._entries = config.entries
        self._ways = config.ways
        self._mask = sets - 1
        self._shift = config.sub_entries.bit_length() - 1
        self._sets: list[dict[int, dict[int, Mapping]]] = [{} for _ in range(sets)]
        self._replacement = make_replacement(config.replacement, config.ways)
        for entries in self._sets:  # the number of a set is its number for the policy, too
            self._replacement.adopt(entries, config.ways)
        self.evicted = EvictedEntries(config.sub_entries)

    def attach(self, signals: Signals) -> None:
        self._replacement.attach(signals)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        base = tag >> self._shift
        index = base & self._mask
        pages = self._sets[index].get(base)
        if pages is None:
            return None
        mapping = pages.get(tag)
        if mapping is not None:
            self._replacement.touch(index, base)
        return mapping

    def peek(self, tag: int, slot: int) -> Mapping | None:
        base = tag >> self._shift
        return self._sets[base & self._mask].get(base, {}).get(tag)

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        base = tag >> self._shift
        index = base & self._mask
        entries = self._sets[index]
        pages = entries.get(base)
        if pages is not None:
            pages[tag] = mapping
            self._replacement.touch(index, base)
            return 0
        evicted = 0
        if len(entries) >= self._ways:
            self._evict(index, victim_of(self._replacement, index, entries))
            evicted = 1
        entries[base] = {tag: mapping}
        self._replacement.insert(index, base)
        return evicted

    def invalidate(self, tag: int) -> bool:
        base = tag >> self._shift
        index = base & self._mask
        pages = self._sets[index].get(base)
        if pages is None or pages.pop(tag, None) is None:
            return False
        if not pages:
            del self._sets[index][base]
            self._replacement.forget(index, base)
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "valid and dirty bits": 2,
            "base of pages": dimensions.page_bits - self._shift - bits_for(len(self._sets)),
            "frames": dimensions.frame_bits << self._shift,
        }
        return [Storage("entries", self._entries, fields)]

    def flush(self) -> None:
        for index, entries in enumerate(self._sets):
            for base in list(entries):
                del entries[base]
                self._replacement.forget(index, base)

    def counters_of(self, asid: int) -> tuple[object, ...]:
        return (self.evicted.counters_of(asid),)

    def _evict(self, index: int, victim: int) -> None:
        """The entry of a base goes from a set."""
        pages = self._sets[index].pop(victim)
        self.evicted.add(victim << self._shift, len(pages))
        self._replacement.forget(index, victim)
        if self.spilled is not None:
            self.spilled.append(pages)


register_policy(Slot.TLB_ARRAY, "sub-entry", SubEntryArray)
