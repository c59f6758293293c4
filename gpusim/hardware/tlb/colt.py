"""A TLB whose entries map pages that lie side by side in memory as they do in the address space.

Pham, Vaidyanathan, Jaleel and Bhattacharjee, *CoLT: Coalesced Large-Reach TLBs*, MICRO 2012, §4.1:
CoLT-SA, the set-associative one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.errors import OptionError
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.cluster import Cluster, ClusterArray

LINE_ENTRIES: Final = 8
"""Entries of the page table that a walk reads at once: a line of 64 bytes."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class ColtCounters:
    """What a coalescing TLB did."""

    coalesced: int = count("pages that came into an entry with the one that was asked for")


@mypyc_attr(allow_interpreted_subclasses=True)
class ColtArray(ClusterArray):
    """`entries` entries in sets of `ways`, each for up to `sub_entries` pages of an aligned group.

    The walk of a page has read the line of the page table that holds its neighbours, too.  Those
    that are mapped with the same permission, and continue the page without a gap in both its
    directions, within its group, come into its entry with it.  An entry keeps one frame, and a
    valid bit for each page; pages of a group that lie elsewhere in memory need another one.  A page
    that is forgotten leaves a hole in its entry.

    Raises:
        OptionError: a group does not lie in one line of the page table.
    """

    def __init__(self, config: TlbConfig) -> None:
        if config.sub_entries > LINE_ENTRIES:
            raise OptionError(
                "sub_entries",
                f"must be at most {LINE_ENTRIES}: the entries of the page table that a walk reads "
                "at once",
            )
        super().__init__(config)
        self.colt = ColtCounters()
        self._signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        super().attach(signals)
        self._signals = signals

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        evicted = super().insert(tag, mapping, slot)
        first = tag >> self._shift << self._shift
        for page in range(tag + 1, first + (1 << self._shift)):
            if not self._coalesce(tag, mapping, page):
                break
        for page in range(tag - 1, first - 1, -1):
            if not self._coalesce(tag, mapping, page):
                break
        return evicted

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "group of pages": dimensions.page_bits - self._shift - bits_for(len(self._sets)),
            "valid bits": 1 << self._shift,
            "frame": dimensions.frame_bits,
        }
        return [Storage("entries", self._entries, fields)]

    def counters(self) -> tuple[object, ...]:
        return (*super().counters(), self.colt)

    def _cluster(self, tag: int, mapping: Mapping) -> Cluster:
        """Pages of one group share an entry if they are as far from their frames."""
        return tag >> self._shift, mapping.delta << 1 | mapping.writable

    def _coalesce(self, tag: int, mapping: Mapping, page: int) -> bool:
        """Take a neighbour of a page into its entry; returns whether it continues the page."""
        assert self._signals is not None
        neighbour = self._signals.mapping(page)
        if neighbour is None or self._cluster(page, neighbour) != self._cluster(tag, mapping):
            return False
        one = self._sets[self._index(tag)]
        home = one.homes[tag]
        if page not in one.homes:
            one.homes[page] = home
            self.colt.coalesced += 1
        one.entries[home][page] = neighbour
        return True


register_policy(Slot.TLB_ARRAY, "colt", ColtArray)
