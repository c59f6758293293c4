"""What a set of a TLB holds: a slot beside the array, which chooses among the sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from gpusim.config.schema import TlbConfig
from gpusim.core.registry import Slot, policy
from gpusim.core.structures import Storage


class Entry:
    """A translation in a set.

    Attributes:
        tag, pfn: the page and its frame.
        used, block: when it was last used and by whom, for arrays that replace among several sets.
    """

    __slots__ = ("block", "pfn", "tag", "used")

    def __init__(self, tag: int, pfn: int) -> None:
        self.tag = tag
        self.pfn = pfn
        self.used = 0
        self.block = 0


class Ways:
    """Up to `capacity` entries by some key, the least recently used first."""

    __slots__ = ("capacity", "entries")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries: dict[int, Entry] = {}

    @property
    def full(self) -> bool:
        """Whether a new entry would evict another one, or cannot be kept."""
        return len(self.entries) >= self.capacity

    def find(self, key: int) -> Entry | None:
        """The entry of a key, if it is there; that counts as a use."""
        entries = self.entries
        entry = entries.pop(key, None)
        if entry is not None:
            entries[key] = entry
        return entry

    def put(self, key: int, entry: Entry) -> int:
        """Keep an entry; returns how many were evicted for it."""
        entries = self.entries
        evicted = 0
        if entries.pop(key, None) is None and len(entries) >= self.capacity:
            if not self.capacity:
                return 0
            del entries[next(iter(entries))]
            evicted = 1
        entries[key] = entry
        return evicted


class TlbSet(Protocol):
    """One set of a TLB."""

    def find(self, tag: int, /) -> Entry | None:
        """The entry of a page, if it is there; that counts as a use."""

    def ways_for(self, tag: int, pfn: int) -> Ways:
        """The ways that a translation would go to."""

    def insert(self, entry: Entry) -> int:
        """Take in a translation; returns how many were evicted for it."""

    def remove(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""

    def clear(self) -> None:
        """Forget everything."""


class SetKind(ABC):
    """Makes the sets of one TLB.

    Attributes:
        extra_cycles: pipeline stages that a lookup takes beyond the latency of the level.
    """

    extra_cycles: int = 0

    @abstractmethod
    def make(self, index_bits: int) -> TlbSet:
        """An empty set, chosen by `index_bits` low bits of the page number."""

    def storage(self, page_bits: int, frame_bits: int) -> Sequence[Storage] | None:
        """What a set keeps in hardware; None: it does not tell.

        Args:
            page_bits: of a page number that the choice of the set does not tell.
            frame_bits: of a frame number.
        """
        return None

    def counters(self) -> tuple[object, ...]:
        """Counters of all sets made: attrs instances made with `counters.count`."""
        return ()


class PlainSet(Ways):
    """Each way holds one translation."""

    __slots__ = ()

    def ways_for(self, tag: int, pfn: int) -> Ways:
        return self

    def insert(self, entry: Entry) -> int:
        return self.put(entry.tag, entry)

    def remove(self, tag: int) -> bool:
        return self.entries.pop(tag, None) is not None

    def clear(self) -> None:
        self.entries.clear()


@policy(Slot.TLB_SET, "plain")
class PlainSets(SetKind):
    """Sets of `ways` translations, replaced LRU."""

    def __init__(self, config: TlbConfig) -> None:
        self._ways = config.ways

    def make(self, index_bits: int) -> TlbSet:
        return PlainSet(self._ways)

    def storage(self, page_bits: int, frame_bits: int) -> Sequence[Storage]:
        return [Storage("entries", self._ways, {"page": page_bits, "frame": frame_bits})]
