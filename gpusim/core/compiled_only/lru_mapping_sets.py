"""Mappings in sets side by side in memory, of which the least recently used goes."""

from __future__ import annotations

from gpusim.core.compiled_only.lru_sets import LruSets
from gpusim.core.mapping import Mapping
from gpusim.core.mapping_sets import MappingSets, first_page


class LruMappingSets(MappingSets):
    """A mapping beside each of the entries of `LruSets`, by its number there.

    Args:
        sets, ways: how many sets there are, and entries of each.
    """

    __slots__ = ("_mappings", "_sets")

    def __init__(self, sets: int, ways: int) -> None:
        self._sets = LruSets(sets, ways)
        self._mappings: list[Mapping | None] = [None] * (sets * ways)

    def find(self, index: int, key: int) -> Mapping | None:
        number = self._sets.find(index, key)
        if number < 0:
            return None
        self._sets.touch(number)
        return self._mappings[number]

    def look(self, index: int, key: int) -> Mapping | None:
        number = self._sets.find(index, key)
        return None if number < 0 else self._mappings[number]

    def insert(
        self, index: int, key: int, mapping: Mapping, spilled: list[dict[int, Mapping]] | None
    ) -> int:
        sets, evicted = self._sets, 0
        number = sets.find(index, key)
        if number < 0:
            number = sets.free(index)
        if number < 0:
            number = sets.oldest(index)
            evicted = 1
            gone = self._mappings[number]
            if spilled is not None and gone is not None:
                spilled.append({first_page(sets.key(number), gone): gone})
        sets.put(number, key, 1)
        self._mappings[number] = mapping
        return evicted

    def remove(self, index: int, key: int) -> bool:
        number = self._sets.find(index, key)
        if number < 0:
            return False
        self._sets.forget(number)
        self._mappings[number] = None
        return True

    def next_victim(self, index: int) -> Mapping | None:
        if self._sets.free(index) >= 0:
            return None
        return self._mappings[self._sets.oldest(index)]

    def first_pages(self, index: int) -> list[int]:
        found: list[int] = []
        for number in self._sets.in_order(index):
            mapping = self._mappings[number]
            assert mapping is not None
            found.append(first_page(self._sets.key(number), mapping))
        return found

    def clear(self) -> None:
        self._sets.clear()
        for number in range(len(self._mappings)):
            self._mappings[number] = None
