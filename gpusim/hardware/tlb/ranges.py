"""Entries of several neighbouring pages in arrays whose sets hold one translation to an entry."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import ArrayTraits, TlbArray
from gpusim.hardware.tlb.wrapper import ArrayAround


@mypyc_attr(allow_interpreted_subclasses=True)
class Range(Mapping):
    """What an entry with sub-entries holds, as the translation of its range.

    Attributes:
        mapped: by tag, what covers each page of the range that is there.
        highest: the highest frame of these pages; `pfn` is the lowest one.
    """

    __slots__ = ("highest", "mapped")

    def __init__(self, base: int, mapped: dict[int, Mapping]) -> None:
        frames = [mapping.frame(tag) for tag, mapping in mapped.items()]
        super().__init__(base, min(frames))
        self.mapped = mapped
        self.highest = max(frames)

    def frame(self, tag: int) -> int:
        return self.pfn

    def last_frame(self, tag: int) -> int:
        return self.highest


@mypyc_attr(allow_interpreted_subclasses=True)
class RangesArray(ArrayAround):
    """Sub-entries in any array of sets: to the array inside, a range of pages is one page.

    A page is found if the entry of its range is there, with the page in it; a lookup of a page
    that is not in it is a use of the entry all the same [our choice].  A missing page is filled
    into the entry; a page that is forgotten takes the entry with it [our choice].  A page larger
    than a sub-entry fills the one that was asked for.

    Args:
        array: inside, which is given numbers of ranges.
        config: the TLB; `sub_entries` pages to an entry.
    """

    def __init__(self, array: TlbArray, config: TlbConfig) -> None:
        super().__init__(array)
        self._shift = bits_for(config.sub_entries)
        self._spilled_inside: list[dict[int, Mapping]] = []
        self._kept: dict[int, Range] = {}
        """By number: the ranges that are there, if their pages are told."""

    def traits(self) -> ArrayTraits:
        return evolve(
            super().traits(), by_block_slot=self.inside.by_block_slot, large_pages="splintered"
        )

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        found = self._look_inside(tag >> self._shift, slot)
        if self._spilled_inside:
            self._hand_on()
        if found is None:
            return None
        assert isinstance(found, Range)
        return found.mapped.get(tag)

    def peek(self, tag: int, slot: int) -> Mapping | None:
        found = self.array.peek(tag >> self._shift, slot)
        return found.mapped.get(tag) if isinstance(found, Range) else None

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        base = tag >> self._shift
        known = self.array.lookup(base, slot)
        mapped = {tag: mapping}
        if known is not None:
            assert isinstance(known, Range)
            mapped = {**known.mapped, tag: mapping}
        made = Range(base, mapped)
        if self.spilled is not None:
            self._kept[base] = made
        evicted = self.array.insert(base, made, slot)
        if self._spilled_inside:
            self._hand_on()
        return evicted

    def invalidate(self, tag: int) -> bool:
        base = tag >> self._shift
        if self.spilled is not None and (gone := self._kept.pop(base, None)) is not None:
            self.spilled.append({page: one for page, one in gone.mapped.items() if page != tag})
        return self.array.invalidate(base)

    def flush(self) -> None:
        super().flush()
        self._kept.clear()

    def _hand_on(self) -> None:
        """Pages of the ranges that the array inside has evicted."""
        assert self.spilled is not None
        for ranges in self._spilled_inside:
            for base, gone in ranges.items():
                assert isinstance(gone, Range)
                self.spilled.append(gone.mapped)
                self._kept.pop(base, None)
        self._spilled_inside.clear()

    def spill_into(self, spilled: list[dict[int, Mapping]]) -> None:
        super().spill_into(spilled)
        self.array.spill_into(self._spilled_inside)

    def storage(self, dimensions: Dimensions) -> Sequence[Storage] | None:
        return self.array.storage(evolve(dimensions, page_bits=dimensions.page_bits - self._shift))
