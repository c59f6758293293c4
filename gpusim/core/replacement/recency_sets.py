"""Sets in the order of use: what plain LRU needs, without a policy that is told of each use."""

from __future__ import annotations

from gpusim.core.mapping import Mapping
from gpusim.core.mapping_sets import MappingSets, first_page
from gpusim.core.replacement.dict_sets import DictSets
from gpusim.core.state_sets import Gone
from gpusim.core.unboxed import IntDict, first_key


class RecencySets(DictSets):
    """The first entry of a set is the least recently used one, and goes first."""

    __slots__ = ()

    def use(self, index: int, key: int) -> int:
        entries = self._sets[index]
        if key not in entries:
            return 0
        state = entries[key] = entries.pop(key)
        return state

    def add(self, index: int, key: int, state: int) -> Gone:
        entries = self._sets[index]
        if key in entries:
            entries[key] = entries.pop(key) | state
            return 0, 0
        if len(entries) < self._ways:
            entries[key] = state
            return 0, 0
        gone = first_key(entries)
        last = entries.pop(gone)
        entries[key] = state
        return gone, last

    def evict(self, index: int) -> Gone:
        entries = self._sets[index]
        gone = first_key(entries)
        return gone, entries.pop(gone)

    def remove(self, index: int, key: int) -> int:
        entries = self._sets[index]
        return entries.pop(key) if key in entries else 0

    def clear(self) -> None:
        for entries in self._sets:
            entries.clear()


class RecencyMappings(MappingSets):
    """The same of mappings.

    Args:
        sets, ways: how many sets there are, and entries of each.
    """

    __slots__ = ("_sets", "_ways")

    def __init__(self, sets: int, ways: int) -> None:
        self._ways = ways
        self._sets: list[IntDict[Mapping]] = [IntDict() for _ in range(sets)]

    def find(self, index: int, key: int) -> Mapping | None:
        entries = self._sets[index]
        if key not in entries:
            return None
        mapping = entries[key] = entries.pop(key)
        return mapping

    def look(self, index: int, key: int) -> Mapping | None:
        return self._sets[index].get(key)

    def insert(
        self, index: int, key: int, mapping: Mapping, spilled: list[dict[int, Mapping]] | None
    ) -> int:
        entries = self._sets[index]
        evicted = 0
        if key in entries:
            del entries[key]
        elif len(entries) >= self._ways:
            evicted = 1
            oldest = first_key(entries)
            gone = entries.pop(oldest)
            if spilled is not None:
                spilled.append({first_page(oldest, gone): gone})
        entries[key] = mapping
        return evicted

    def remove(self, index: int, key: int) -> bool:
        entries = self._sets[index]
        if key not in entries:
            return False
        del entries[key]
        return True

    def next_victim(self, index: int) -> Mapping | None:
        entries = self._sets[index]
        return None if len(entries) < self._ways else entries[first_key(entries)]

    def first_pages(self, index: int) -> list[int]:
        return [first_page(key, mapping) for key, mapping in self._sets[index].items()]

    def clear(self) -> None:
        for entries in self._sets:
            entries.clear()
