"""What the plain sets of a TLB map, side by side in memory, for compiled code alone."""

from __future__ import annotations

from gpusim.core.compiled_only.lru_sets import LruSets
from gpusim.core.mapping import Mapping


class MappingSets(LruSets):
    """Mappings by the names of pages: of each entry, its mapping beside its key.

    Attributes:
        mappings: by the number of an entry.
    """

    __slots__ = ("mappings",)

    def __init__(self, sets: int, ways: int) -> None:
        super().__init__(sets, ways)
        self.mappings: list[Mapping | None] = [None] * (sets * ways)

    def insert(
        self,
        index: int,
        key: int,
        mapping: Mapping,
        spilled: list[dict[int, Mapping]] | None = None,
    ) -> int:
        """Keep a mapping in a set.

        Args:
            index: number of the set.
            key: name of the page.
            mapping: what covers it.
            spilled: takes what goes, by its first page; None: it is forgotten.

        Returns:
            how many went for it.
        """
        number = self.find(index, key)
        evicted = 0
        if number < 0:
            number = self.free(index)
        if number < 0:
            number = self.oldest(index)
            evicted = 1
            gone = self.mappings[number]
            if spilled is not None and gone is not None:
                spilled.append({self._first_page(number, gone): gone})
        self.put(number, key, 1)
        self.mappings[number] = mapping
        return evicted

    def remove(self, index: int, key: int) -> bool:
        """Forget a page; returns whether it was there."""
        number = self.find(index, key)
        if number < 0:
            return False
        self.forget(number)
        self.mappings[number] = None
        return True

    def next_victim(self, index: int) -> Mapping | None:
        """What goes next from a set; None: it has room."""
        return self.mappings[self.oldest(index)] if self.free(index) < 0 else None

    def first_pages(self, index: int) -> list[int]:
        """First pages of what is in a set, the least recently used one first."""
        found: list[int] = []
        for number in self.in_order(index):
            mapping = self.mappings[number]
            assert mapping is not None
            key = self.key(number)
            found.append(key if key >= 0 else mapping.tag)
        return found

    def _first_page(self, number: int, mapping: Mapping) -> int:
        return self.key(number) if mapping.pages == 1 else mapping.tag
