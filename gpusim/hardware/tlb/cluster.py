"""A TLB whose entries map clusters of pages onto clusters of frames (COMP Table 1, cluster TLB)."""

from __future__ import annotations

from collections.abc import Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.counters import count
from gpusim.core.mapping import Mapping
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement import make_replacement, victim_of
from gpusim.core.signals import Signals
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.hardware.tlb.array import TlbArray

Cluster = tuple[int, int]
"""Number of a cluster of pages, and of the cluster of frames that they lie in."""


@attr.s(auto_attribs=True, eq=False, repr=False)
class ClusterCounters:
    """What a cluster TLB did."""

    joined: int = count("translations that went into an entry that was there")
    opened: int = count("translations that needed a new entry")


class _Set:
    """Entries of one set: pages by cluster, under numbers which the replacement policy knows."""

    __slots__ = ("entries", "homes", "numbers")

    def __init__(self) -> None:
        self.entries: dict[int, dict[int, Mapping]] = {}
        """By number."""
        self.homes: dict[int, int] = {}
        """The entry of each page."""
        self.numbers: dict[Cluster, int] = {}
        """The entry of each cluster."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ClusterArray(TlbArray):
    """`entries` entries in sets of `ways`, each for an aligned cluster of `sub_entries` pages.

    An entry keeps a valid bit and the low bits of the frame for each page, and the rest of the
    frame number once: only pages whose frames lie in one aligned cluster, in any order, share it.
    Of a page larger than the smallest it keeps the small one that was asked for.
    """

    replaces = True
    spills = True
    spills_entries = False

    def __init__(self, config: TlbConfig) -> None:
        sets = config.entries // config.ways
        self._entries = config.entries
        self._ways = config.ways
        self._mask = sets - 1
        self._shift = config.sub_entries.bit_length() - 1
        self._sets = [_Set() for _ in range(sets)]
        self._replacement = make_replacement(config.replacement, config.ways)
        for one in self._sets:
            self._replacement.adopt(one.entries, config.ways)
        self._opened = 0
        self.clusters = ClusterCounters()

    def attach(self, signals: Signals) -> None:
        self._replacement.attach(signals)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        index = self._index(tag)
        one = self._sets[index]
        home = one.homes.get(tag)
        if home is None:
            return None
        self._replacement.touch(index, home)
        return one.entries[home][tag]

    def peek(self, tag: int, slot: int) -> Mapping | None:
        one = self._sets[self._index(tag)]
        home = one.homes.get(tag)
        return None if home is None else one.entries[home][tag]

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        self.invalidate(tag)
        index = self._index(tag)
        one = self._sets[index]
        cluster = self._cluster(tag, mapping)
        home = one.numbers.get(cluster)
        evicted = 0
        if home is not None:
            self.clusters.joined += 1
            one.entries[home][tag] = mapping
            self._replacement.touch(index, home)
        else:
            self.clusters.opened += 1
            if len(one.entries) >= self._ways:
                victim = victim_of(self._replacement, index, one.entries)
                if self.spilled is not None:
                    self.spilled.append(one.entries[victim])
                self._close(index, victim)
                evicted = 1
            home = self._open(index, cluster, tag, mapping)
        one.homes[tag] = home
        return evicted

    def invalidate(self, tag: int) -> bool:
        index = self._index(tag)
        one = self._sets[index]
        home = one.homes.pop(tag, None)
        if home is None:
            return False
        del one.entries[home][tag]
        if not one.entries[home]:
            self._close(index, home)
        return True

    def storage(self, dimensions: Dimensions) -> Sequence[Storage]:
        fields = {
            "cluster of pages": dimensions.page_bits - self._shift - bits_for(len(self._sets)),
            "cluster of frames": dimensions.frame_bits - self._shift,
            "pages": (1 + self._shift) << self._shift,
        }
        return [Storage("entries", self._entries, fields)]

    def flush(self) -> None:
        for index, one in enumerate(self._sets):
            for home in list(one.entries):
                self._close(index, home)

    def counters(self) -> tuple[object, ...]:
        return (self.clusters,)

    def _cluster(self, tag: int, mapping: Mapping) -> Cluster:
        """Which pages may share an entry with one."""
        return tag >> self._shift, mapping.frame(tag) >> self._shift

    def _open(self, index: int, cluster: Cluster, tag: int, mapping: Mapping) -> int:
        """A new entry for a cluster, with its first page; returns its number."""
        one = self._sets[index]
        self._opened += 1
        home = one.numbers[cluster] = self._opened
        one.entries[home] = {tag: mapping}
        self._replacement.insert(index, home)
        return home

    def _close(self, index: int, home: int) -> None:
        """An entry goes, with its pages."""
        one = self._sets[index]
        for page in one.entries.pop(home):
            del one.homes[page]
        del one.numbers[next(key for key, number in one.numbers.items() if number == home)]
        self._replacement.forget(index, home)

    def _index(self, tag: int) -> int:
        return tag >> self._shift & self._mask


register_policy(Slot.TLB_ARRAY, "cluster", ClusterArray)
