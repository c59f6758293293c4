"""The sets of a TLB: a policy slot beside the array, which chooses among the sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from mypy_extensions import mypyc_attr

from gpusim.config.translation import TlbConfig
from gpusim.core.mapping import Mapping
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.replacement import Replacement, make_replacement, victim_of
from gpusim.core.signals import Signals
from gpusim.core.structures import Storage
from gpusim.core.unboxed import IntDict


@mypyc_attr(allow_interpreted_subclasses=True)
class Entry:
    """A translation in a set.

    Attributes:
        tag: the page.
        mapping: what covers it.
        used, block: when it was last used and by which block, for arrays that replace among sets.
    """

    __slots__ = ("block", "mapping", "tag", "used")

    def __init__(self, tag: int, mapping: Mapping) -> None:
        self.tag = tag
        self.mapping = mapping
        self.used = 0
        self.block = 0

    @property
    def pfn(self) -> int:
        """The frame of the page; of a range of pages, the lowest one."""
        return self.mapping.frame(self.tag)

    @property
    def last_pfn(self) -> int:
        """The same, of a range of pages the highest one."""
        return self.mapping.last_frame(self.tag)


@mypyc_attr(allow_interpreted_subclasses=True)
class Ways:
    """Up to `capacity` entries by some key, in the charge of a replacement policy."""

    __slots__ = ("_index", "_replacement", "capacity", "entries")

    def __init__(self, capacity: int, replacement: Replacement) -> None:
        self.capacity = capacity
        self.entries: IntDict[Entry] = IntDict()
        self._index = replacement.adopt(self.entries, capacity) if capacity else -1
        self._replacement = replacement

    @property
    def full(self) -> bool:
        """Whether a new entry would evict another one, or cannot be kept."""
        return len(self.entries) >= self.capacity

    def find(self, key: int) -> Entry | None:
        """The entry of a key, if it is there; that counts as a use."""
        entry = self.entries.get(key)
        if entry is not None:
            self._replacement.touch(self._index, key)
        return entry

    def put(self, key: int, entry: Entry, gone: list[Entry] | None = None) -> int:
        """Keep an entry; returns how many were evicted for it, which `gone` takes."""
        entries = self.entries
        if key in entries:
            entries[key] = entry
            self._replacement.touch(self._index, key)
            return 0
        evicted = 0
        if len(entries) >= self.capacity:
            if not self.capacity:
                if gone is not None:
                    gone.append(entry)
                return 0
            victim = self.take(victim_of(self._replacement, self._index, entries))
            if gone is not None and victim is not None:
                gone.append(victim)
            evicted = 1
        entries[key] = entry
        self._replacement.insert(self._index, key)
        return evicted

    def victim(self) -> Entry:
        """The entry that would have to go; there is one."""
        return self.entries[victim_of(self._replacement, self._index, self.entries)]

    def take(self, key: int) -> Entry | None:
        """Take an entry out; None: it is not there."""
        entry = self.entries.get(key)
        if entry is not None:
            del self.entries[key]
            self._replacement.forget(self._index, key)
        return entry

    def clear(self) -> None:
        """Take all out."""
        for key in list(self.entries):
            self.take(key)


class TlbSet(Protocol):
    """One set of a TLB."""

    def find(self, tag: int, /) -> Entry | None:
        """The entry of a page, if it is there; that counts as a use."""

    def ways_for(self, tag: int, pfn: int) -> Ways:
        """The ways that a page in a frame would go to."""

    def insert(self, entry: Entry) -> int:
        """Take in a translation; returns how many were evicted for it."""

    def remove(self, tag: int) -> bool:
        """Forget one page; returns whether it was there."""

    def clear(self) -> None:
        """Forget everything."""

    def kept(self) -> list[Entry]:
        """What it holds; asked of sets whose kind spills."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SetKind(Policy):
    """Makes the sets of one TLB.

    Args:
        config: the TLB.
        ways: that one replacement policy has in its charge together; default: those of a set.

    Attributes:
        extra_cycles: pipeline stages that a lookup takes beyond the latency of the level.
        replacement: in charge of all the sets.
        spills: its sets put entries that they evict into `gone`, if there is such a list.
        gone: that list; None: they are forgotten.
    """

    extra_cycles: int = 0
    spills: bool = False
    gone: list[Entry] | None = None

    def __init__(self, config: TlbConfig, *ways: int) -> None:
        self.replacement = make_replacement(config.replacement, *(ways or (config.ways,)))

    def attach(self, signals: Signals) -> None:
        """The machine is built; see `gpusim.core.signals`."""
        self.replacement.attach(signals)

    @abstractmethod
    def make(self, index_bits: int) -> TlbSet:
        """An empty set, chosen by `index_bits` low bits of the page number."""

    def storage(self, page_bits: int, frame_bits: int) -> Sequence[Storage] | None:
        """The storage that a set needs in hardware; None: not stated.

        Args:
            page_bits: of a page number that the choice of the set does not imply.
            frame_bits: of a frame number.
        """
        return None

    def counters(self) -> tuple[object, ...]:
        """Counters of all sets made: attrs instances made with `counters.count`."""
        return ()


def stages_of(kind: SetKind) -> int:
    """`extra_cycles` of a kind of sets, whose class may state them."""
    stated: Any = kind
    cycles: int = stated.extra_cycles
    return cycles


def spills_of(kind: SetKind) -> bool:
    """`spills` of a kind of sets, whose class may state it."""
    stated: Any = kind
    spills: bool = stated.spills
    return spills


open_slot(Slot.TLB_SET, SetKind, "config")


@mypyc_attr(allow_interpreted_subclasses=True)
class PlainSet(Ways):
    """Each way holds one translation."""

    __slots__ = ()

    def ways_for(self, tag: int, pfn: int) -> Ways:
        return self

    def insert(self, entry: Entry) -> int:
        return self.put(entry.tag, entry)

    def remove(self, tag: int) -> bool:
        return self.take(tag) is not None

    def kept(self) -> list[Entry]:
        return list(self.entries.values())


@mypyc_attr(allow_interpreted_subclasses=True)
class PlainSets(SetKind):
    """Sets of `ways` translations."""

    spills = True

    def __init__(self, config: TlbConfig) -> None:
        super().__init__(config)
        self._ways = config.ways
        self._frames = config.sub_entries

    def make(self, index_bits: int) -> TlbSet:
        return PlainSet(self._ways, self.replacement)

    def storage(self, page_bits: int, frame_bits: int) -> Sequence[Storage]:
        fields = {"page": page_bits, "frame": frame_bits * self._frames}
        return [Storage("entries", self._ways, fields)]


register_policy(Slot.TLB_SET, "plain", PlainSets)
