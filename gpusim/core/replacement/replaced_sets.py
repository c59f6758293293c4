"""Sets of entries of which a replacement policy says what goes."""

from __future__ import annotations

from gpusim.core.replacement.base import Replacement, victim_of
from gpusim.core.replacement.dict_sets import DictSets
from gpusim.core.replacement.recency import is_plain_lru
from gpusim.core.replacement.recency_sets import RecencySets
from gpusim.core.state_sets import Gone, StateSets
from gpusim.core.unboxed import MYPYC

if MYPYC:
    from gpusim.core.compiled_only.lru_sets import FEW_WAYS, LruSets


class ReplacedSets(DictSets):
    """Sets in the charge of a replacement policy.

    Args:
        sets, ways: how many sets there are, and entries of each.
        replacement: the policy.
    """

    __slots__ = ("_replacement",)

    def __init__(self, sets: int, ways: int, replacement: Replacement) -> None:
        super().__init__(sets, ways)
        self._replacement = replacement
        for one in self._sets:  # numbered in this order
            replacement.adopt(one, ways)

    def use(self, index: int, key: int) -> int:
        state = self._sets[index].get(key, 0)
        if state:
            self._replacement.touch(index, key)
        return state

    def add(self, index: int, key: int, state: int) -> Gone:
        entries = self._sets[index]
        before = entries.get(key, 0)
        if before:
            entries[key] = before | state
            self._replacement.touch(index, key)
            return 0, 0
        gone = self.evict(index) if len(entries) >= self._ways else (0, 0)
        entries[key] = state
        self._replacement.insert(index, key)
        return gone

    def evict(self, index: int) -> Gone:
        entries = self._sets[index]
        gone = victim_of(self._replacement, index, entries)
        state = entries.pop(gone)
        self._replacement.forget(index, gone)
        return gone, state

    def remove(self, index: int, key: int) -> int:
        entries = self._sets[index]
        state = entries.get(key, 0)
        if state:
            del entries[key]
            self._replacement.forget(index, key)
        return state

    def clear(self) -> None:
        for index, entries in enumerate(self._sets):
            if entries:
                for key in entries:
                    self._replacement.forget(index, key)
                entries.clear()


def make_sets(sets: int, ways: int, replacement: Replacement) -> StateSets:
    """Empty sets in the charge of a policy, which is asked for nothing where it is plain LRU."""
    if not is_plain_lru(replacement):
        return ReplacedSets(sets, ways, replacement)
    if MYPYC and ways <= FEW_WAYS:
        return LruSets(sets, ways)
    return RecencySets(sets, ways)
