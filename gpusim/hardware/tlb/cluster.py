"""A TLB whose entries map clusters of pages onto clusters of frames (COMP Table 1, cluster TLB)."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define

from gpusim.config.schema import TlbConfig
from gpusim.core.counters import count
from gpusim.core.registry import Slot, policy
from gpusim.core.request import NO_PAGE
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray

_Cluster = tuple[int, int]
"""Number of a cluster of pages, and of the cluster of frames that they lie in."""


@define(slots=True)
class ClusterCounters:
    """What a cluster TLB did."""

    joined: int = count("translations that went into an entry that was there")
    opened: int = count("translations that needed a new entry")


class _Set:
    """Entries of one set: pages and frames by cluster, the least recently used first."""

    __slots__ = ("entries", "homes")

    def __init__(self) -> None:
        self.entries: dict[_Cluster, dict[int, int]] = {}
        self.homes: dict[int, _Cluster] = {}
        """The entry of each page."""


@policy(Slot.TLB_ARRAY, "cluster")
class ClusterArray(TlbArray):
    """`entries` entries in sets of `ways`, each for an aligned cluster of `sub_entries` pages.

    An entry keeps a valid bit and the low bits of the frame for each page, and the rest of the
    frame number once: only pages whose frames lie in one aligned cluster, in any order, share it.
    """

    def __init__(self, config: TlbConfig) -> None:
        sets = config.entries // config.ways
        self._entries = config.entries
        self._ways = config.ways
        self._mask = sets - 1
        self._shift = config.sub_entries.bit_length() - 1
        self._sets = [_Set() for _ in range(sets)]
        self.clusters = ClusterCounters()

    def lookup(self, tag: int, slot: int) -> int:
        one = self._set(tag)
        home = one.homes.get(tag)
        if home is None:
            return NO_PAGE
        pages = one.entries[home] = one.entries.pop(home)
        return pages[tag]

    def insert(self, tag: int, pfn: int, slot: int) -> int:
        self.invalidate(tag)
        one = self._set(tag)
        home = (tag >> self._shift, pfn >> self._shift)
        pages = one.entries.pop(home, None)
        evicted = 0
        if pages is None:
            self.clusters.opened += 1
            pages = {}
            if len(one.entries) >= self._ways:
                for page in one.entries.pop(next(iter(one.entries))):
                    del one.homes[page]
                evicted = 1
        else:
            self.clusters.joined += 1
        pages[tag] = pfn
        one.entries[home] = pages
        one.homes[tag] = home
        return evicted

    def invalidate(self, tag: int) -> bool:
        one = self._set(tag)
        home = one.homes.pop(tag, None)
        if home is None:
            return False
        del one.entries[home][tag]
        if not one.entries[home]:
            del one.entries[home]
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "cluster of pages": dimensions.page_bits - self._shift - bits_for(len(self._sets)),
            "cluster of frames": dimensions.frame_bits - self._shift,
            "pages": (1 + self._shift) << self._shift,
        }
        return [Storage("entries", self._entries, fields)]

    def flush(self) -> None:
        self._sets = [_Set() for _ in self._sets]

    def counters(self) -> tuple[object, ...]:
        return (self.clusters,)

    def _set(self, tag: int) -> _Set:
        return self._sets[tag >> self._shift & self._mask]
