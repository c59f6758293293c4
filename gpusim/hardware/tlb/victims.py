"""A victim buffer behind a TLB array (TunneLs, CCS 2023, Table 1: 8 entries in an A100's L3)."""

from __future__ import annotations

from collections.abc import Sequence

import attr
from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray
from gpusim.hardware.tlb.wrapper import ArrayAround


@attr.s(auto_attribs=True, eq=False, repr=False)
class VictimCounters:
    """What the victim buffer of one TLB did."""

    victim_hits: int = count("hits of which the entry was in the victim buffer, and came back")
    victims: int = count("entries that the array evicted into the buffer")


@mypyc_attr(allow_interpreted_subclasses=True)
class VictimBuffer(ArrayAround):
    """A few fully associative entries that take what an array evicts, and give it back.

    It is looked up beside the array, in the same cycles [our choice].  An entry of which a page is
    hit, or filled, goes back into the array with all its pages; what that evicts takes its place.
    The entry that came first goes [our choice]: behind one set with LRU, both together are a set
    with as many more ways.  Pages larger than the smallest are not kept.

    Args:
        array: in front of it.
        config: the TLB; `victims` entries.

    Raises:
        OptionError: the array does not hand on whole entries.
    """

    def __init__(self, array: TlbArray, config: TlbConfig) -> None:
        super().__init__(array)
        if not (self.inside.spills and self.inside.spills_entries):
            raise OptionError(
                "victims",
                f"of no effect: the array {config.array.policy!r} does not hand on "
                "whole entries that it evicts; leave it out",
            )
        self._spilled: list[dict[int, Mapping]] = []
        array.spill_into(self._spilled)
        self._capacity = config.victims or 0
        self._shift = bits_for(config.sub_entries)
        self._entries: dict[int, dict[int, Mapping]] = {}
        """Pages of each base, the one that came first in front."""
        self.buffer = VictimCounters()

    def traits(self) -> ArrayTraits:
        return evolve(super().traits(), hashable=self.inside.hashable)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mapping = self._look_inside(tag, slot)
        if mapping is not None:
            return mapping
        pages = self._entries.get(tag >> self._shift)
        if pages is None or tag not in pages:
            return None
        self.buffer.victim_hits += 1
        mapping = pages[tag]
        self.insert(tag, mapping, slot)
        return mapping

    def peek(self, tag: int, slot: int) -> Mapping | None:
        mapping = self.array.peek(tag, slot)
        return self._entries.get(tag >> self._shift, {}).get(tag) if mapping is None else mapping

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        others = self._entries.pop(tag >> self._shift, None)
        self.array.insert(tag, mapping, slot)
        for page in others or ():
            if page != tag:
                assert others is not None
                self.array.insert(page, others[page], slot)
        return self._take_spilled()

    def invalidate(self, tag: int) -> bool:
        found = self.array.invalidate(tag)
        base = tag >> self._shift
        pages = self._entries.get(base)
        if pages is None or pages.pop(tag, None) is None:
            return found
        if not pages:
            del self._entries[base]
        return True

    def flush(self) -> None:
        super().flush()
        self._entries.clear()

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        stored = super().storage(dimensions)
        if stored is None:
            return None
        fields = {
            "base of pages": dimensions.page_bits - self._shift,
            "frames": dimensions.frame_bits << self._shift,
        }
        return [*stored, Storage("victim buffer", self._capacity, fields)]

    def counters(self) -> tuple[object, ...]:
        return (*super().counters(), self.buffer)

    def _take_spilled(self) -> int:
        """Keep what the array has evicted; returns how many entries are lost for that."""
        lost = 0
        for pages in self._spilled:
            if self.inside.large_pages == "whole" and next(iter(pages.values())).pages > 1:
                self._lose(pages)
                continue
            self.buffer.victims += 1
            self._entries[next(iter(pages)) >> self._shift] = pages
            if len(self._entries) > self._capacity:
                self._lose(self._entries.pop(next(iter(self._entries))))
                lost += 1
        self._spilled.clear()
        return lost

    def _lose(self, pages: dict[int, Mapping]) -> None:
        """Pages leave the array and the buffer."""
        if self.spilled is not None:
            self.spilled.append(pages)
