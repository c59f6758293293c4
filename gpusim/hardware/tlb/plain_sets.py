"""What the sets of a TLB hold, for arrays that ask them for mappings alone."""

from __future__ import annotations

from gpusim.core.mapping import Mapping
from gpusim.core.mapping_sets import MappingSets, first_page
from gpusim.core.replacement import Replacement
from gpusim.hardware.tlb.sets import Entry, PlainSet, SetKind, TlbSet


class PlainMappingSets(MappingSets):
    """Plain sets, in the charge of a replacement policy.

    Args:
        sets: they have these numbers for the policy, too.
        replacement: the policy.
    """

    __slots__ = ("_entries", "_replacement", "_sets")

    def __init__(self, sets: list[PlainSet], replacement: Replacement) -> None:
        self._sets = sets
        self._entries = [one.entries for one in sets]
        self._replacement = replacement

    def find(self, index: int, key: int) -> Mapping | None:
        entry = self._entries[index].get(key)
        if entry is None:
            return None
        self._replacement.touch(index, key)
        return entry.mapping

    def look(self, index: int, key: int) -> Mapping | None:
        entry = self._entries[index].get(key)
        return None if entry is None else entry.mapping

    def insert(
        self, index: int, key: int, mapping: Mapping, spilled: list[dict[int, Mapping]] | None
    ) -> int:
        one = self._sets[index]
        if spilled is not None and one.full and key not in one.entries:
            gone = one.victim()
            one.take(gone.tag)
            one.insert(Entry(key, mapping))
            spilled.append({first_page(gone.tag, gone.mapping): gone.mapping})
            return 1
        return one.insert(Entry(key, mapping))

    def remove(self, index: int, key: int) -> bool:
        return self._sets[index].remove(key)

    def next_victim(self, index: int) -> Mapping | None:
        one = self._sets[index]
        return one.victim().mapping if one.full else None

    def first_pages(self, index: int) -> list[int]:
        return [first_page(key, kept.mapping) for key, kept in self._entries[index].items()]

    def clear(self) -> None:
        for one in self._sets:
            one.clear()


class KindMappingSets(MappingSets):
    """Sets of any kind.

    Args:
        sets: they decide themselves what an entry covers.
        kind: of them.
    """

    __slots__ = ("_kind", "_sets")

    def __init__(self, sets: list[TlbSet], kind: SetKind) -> None:
        self._sets = sets
        self._kind = kind

    def find(self, index: int, key: int) -> Mapping | None:
        entry = self._sets[index].find(key)
        return None if entry is None else entry.mapping

    def insert(
        self, index: int, key: int, mapping: Mapping, spilled: list[dict[int, Mapping]] | None
    ) -> int:
        evicted = self._sets[index].insert(Entry(key, mapping))
        gone = self._kind.gone
        if gone:
            assert spilled is not None
            spilled += [{one.tag: one.mapping} for one in gone]
            gone.clear()
        return evicted

    def remove(self, index: int, key: int) -> bool:
        return self._sets[index].remove(key)

    def clear(self) -> None:
        for one in self._sets:
            one.clear()
