"""Pages of a machine: what an operating system, or a stage of translation, does to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping, Mappings
from gpusim.hardware.walk import FarTable, PageTable


class Holder(Protocol):
    """Whatever keeps translations."""

    def shoot_down(self, tag: int | None) -> None:
        """Forget a page (None: all), also where its translation is on its way."""


class Pages:
    """The page table, and the components that keep translations of it, which changes invalidate.

    A change of a page and its shootdown in all components that keep its translation happen in one
    cycle; what that costs arises from the translations that are asked for again.

    Attributes:
        table: the page table of all address spaces.
        mappings: where pages lie, as those may use them that these are handed to.
        page_bytes: of the smallest pages.
        holders: TLB levels, walkers, stages of one's own.
        virtual: begins the shootdown of a page (None: all) where caches are virtual, which also
            invalidates entries of TLBs, and purges lines.
    """

    def __init__(self, table: PageTable) -> None:
        self.table = table
        self.page_bytes = 1 << table.page_shift
        self.holders: list[Holder] = []
        self.virtual: Callable[[int | None], None] | None = None
        self.mappings: Mappings = table
        self.find = table.find
        self.knows = table.knows
        self.place_of = table.place_of

    def map(self, tag: int, pfn: int, pages: int = 1, *, writable: bool = True) -> Mapping:
        """Map a page, of which no part is mapped yet (see `PageTable.map`)."""
        return self.table.map(tag >> ASID_SHIFT, tag & VPN_MASK, pfn, pages, writable=writable)

    def unmap(self, tag: int) -> Mapping:
        """Take a page away, with its translations; it is mapped anew when it is asked for."""
        mapping = self.table.walk(tag >> ASID_SHIFT, tag & VPN_MASK).mapping
        self._tell(mapping)
        self.table.unmap(mapping.asid, mapping.vpn)
        self._purge(mapping)
        return mapping

    def remap(self, tag: int, pfn: int | None = None) -> Mapping:
        """Move a page to another frame, a fresh one by default."""
        old = self.table.walk(tag >> ASID_SHIFT, tag & VPN_MASK).mapping
        self._tell(old)
        self.table.remap(old.asid, old.vpn, pfn)
        self._purge(old)
        return self.table.walk(old.asid, old.vpn).mapping

    def protect(self, tag: int, *, writable: bool) -> Mapping:
        """Give a page a permission."""
        old = self.table.walk(tag >> ASID_SHIFT, tag & VPN_MASK).mapping
        self._tell(old)
        self.table.protect(old.asid, old.vpn, writable=writable)
        self._purge(old)
        return self.table.walk(old.asid, old.vpn).mapping

    def promote(self, tag: int, pages: int, pfn: int | None = None) -> Mapping | None:
        """Make one page of several (see `PageTable.promote`); None: it cannot be."""
        mapping = self.table.promote(tag >> ASID_SHIFT, tag & VPN_MASK, pages, pfn)
        if mapping is not None:
            self._tell(mapping)
            self._purge(mapping)
        return mapping

    def coalesce(self, tag: int, pages: int) -> Mapping | None:
        """Make one page of several where they lie; None: it cannot be.

        Nothing is invalidated: translations of its parts lead to the same frames, and may be used
        until they are evicted.  Virtual caches, which know pages and not frames, are changed as by
        `promote`.
        """
        if self.virtual is not None:
            return self.promote(tag, pages)
        return self.table.promote(tag >> ASID_SHIFT, tag & VPN_MASK, pages)

    def shoot_down(self, tag: int | None) -> None:
        """Everything forgets a page (None: all), which stays mapped as it is."""
        if self.virtual is not None:
            self.virtual(tag)
            return
        for holder in self.holders:
            holder.shoot_down(tag)

    def _tell(self, mapping: Mapping) -> None:
        """Whatever holds a part of a page forgets it."""
        if self.virtual is None:
            for holder in self.holders:
                for tag in range(mapping.tag, mapping.tag + mapping.pages):
                    holder.shoot_down(tag)

    def _purge(self, mapping: Mapping) -> None:
        """Virtual caches forget a page that has changed, and the TLBs with them."""
        if self.virtual is not None:
            for tag in range(mapping.tag, mapping.tag + mapping.pages):
                self.virtual(tag)


class PagesOfGpu(Pages):
    """Pages as a GPU of a node may use them: where it has a copy of one, that copy.

    Args:
        pages: of all GPUs.
        table: of the GPU.
    """

    def __init__(self, pages: Pages, table: FarTable) -> None:
        super().__init__(pages.table)
        self.holders = pages.holders
        self.mappings = _Usable(table)
        self.find = self.mappings.find


class _Usable(Mappings):
    """What a GPU's table may have of pages."""

    def __init__(self, table: FarTable) -> None:
        self._table = table

    def find(self, tag: int) -> Mapping | None:
        return self._table.may_have(tag)
