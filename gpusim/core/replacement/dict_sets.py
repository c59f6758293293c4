"""Sets that are dicts: the common part of those by use and those in the charge of a policy."""

from __future__ import annotations

from collections.abc import Iterator

from gpusim.core.state_sets import StateSets
from gpusim.core.unboxed import IntDict


class DictSets(StateSets):
    """What no order of the entries changes.

    Args:
        sets, ways: how many sets there are, and entries of each.
    """

    __slots__ = ("_sets", "_ways")

    def __init__(self, sets: int, ways: int) -> None:
        self._ways = ways
        self._sets: list[IntDict[int]] = [IntDict() for _ in range(sets)]

    def look(self, index: int, key: int) -> int:
        return self._sets[index].get(key, 0)

    def mark(self, index: int, key: int, state: int) -> None:
        entries = self._sets[index]
        entries[key] = entries[key] | state

    def used(self, index: int) -> int:
        return len(self._sets[index])

    def keys(self) -> Iterator[int]:
        for entries in self._sets:
            yield from entries
