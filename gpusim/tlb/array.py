"""The slot of a TLB level: which translations it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod


class TlbArray(ABC):
    """Decides hit or miss, where a translation goes, and what it evicts.

    A page is named by its *tag*, ``asid << ASID_SHIFT | vpn`` (`gpusim.request`); `slot` is the
    hardware slot of the thread block that asks, which some arrays index by.

    Attributes:
        extra_cycles: what the last lookup took beyond the level's latency; it also holds the
            port for so long.
    """

    extra_cycles: int = 0

    @abstractmethod
    def lookup(self, tag: int, slot: int) -> int:
        """Frame number of the page, or `gpusim.request.NO_PAGE`; a hit counts as a use."""

    @abstractmethod
    def insert(self, tag: int, pfn: int, slot: int) -> int:
        """Take in a translation; returns how many entries were evicted for it."""

    @abstractmethod
    def invalidate(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""

    @abstractmethod
    def flush(self) -> None:
        """Forget everything."""
