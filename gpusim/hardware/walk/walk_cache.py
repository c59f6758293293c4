"""Page-walk caches: what a walk need not read again."""

from __future__ import annotations

from typing import Final

from gpusim.config.schema import WalkCacheConfig
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.replacement import make_replacement, victim_of

_LEVEL_SHIFT: Final = 60


class _Sets:
    """Keys in sets; a set is picked by the low bits."""

    __slots__ = ("_sets", "_ways", "replacement")

    def __init__(self, config: WalkCacheConfig) -> None:
        self._ways = config.ways or config.blocks
        self.replacement = make_replacement(config.replacement, self._ways)
        self._sets: list[dict[int, None]] = [{} for _ in range(config.blocks // self._ways)]
        for one in self._sets:  # numbered in this order
            self.replacement.adopt(one, self._ways)

    def use(self, index: int, key: int) -> bool:
        """Whether `key` is there; if so, that is a use of it."""
        index %= len(self._sets)
        found = key in self._sets[index]
        if found:
            self.replacement.touch(index, key)
        return found

    def insert(self, index: int, key: int) -> None:
        """Take in `key`; if it is there already, that is a use of it."""
        if self.use(index, key):
            return
        index %= len(self._sets)
        keys = self._sets[index]
        if len(keys) >= self._ways:
            gone = victim_of(self.replacement, index, keys)
            del keys[gone]
            self.replacement.forget(index, gone)
        keys[key] = None
        self.replacement.insert(index, key)

    def forget(self, index: int, key: int) -> None:
        """`key` is no longer there."""
        index %= len(self._sets)
        if key in self._sets[index]:
            del self._sets[index][key]
            self.replacement.forget(index, key)

    def clear(self) -> None:
        """Nothing is there any more."""
        for index, keys in enumerate(self._sets):
            for key in list(keys):
                self.forget(index, key)


class WalkCache:
    """What both kinds have in common.

    Attributes:
        replacement: which entry of a set goes.
    """

    def __init__(self, config: WalkCacheConfig) -> None:
        self._sets = _Sets(config)
        self.replacement = self._sets.replacement


class LevelWalkCache(WalkCache):
    """Upper-level entries of the page table (STAR §II-B: 128 entries shared by the walkers).

    A walk starts below the deepest level that is cached; leaf entries are what TLBs are for and
    are not kept.
    """

    def covered(self, asid: int, prefixes: tuple[int, ...]) -> int:
        """How many levels, from the root, a walk of these prefixes can skip."""
        for level in range(len(prefixes) - 2, -1, -1):
            if self._sets.use(prefixes[level], _level_key(asid, level, prefixes[level])):
                return level + 1
        return 0

    def insert(self, asid: int, level: int, prefixes: tuple[int, ...]) -> None:
        """Keep the entry that a walk read at `level` (0 is the root), unless it is a leaf."""
        if level < len(prefixes) - 1:
            self._sets.insert(prefixes[level], _level_key(asid, level, prefixes[level]))


class LineWalkCache(WalkCache):
    """Lines of the page table by physical address (MASK §III: 8 KiB, 16 ways)."""

    def __init__(self, config: WalkCacheConfig) -> None:
        super().__init__(config)
        self._line = config.line

    def probe(self, address: int) -> bool:
        """Whether the line of a page-table entry is there."""
        line = address // self._line
        return self._sets.use(line, line)

    def insert(self, address: int) -> None:
        """Keep the line of a page-table entry that was read."""
        line = address // self._line
        self._sets.insert(line, line)

    def forget(self, address: int) -> None:
        """The line of a page-table entry is no longer valid."""
        line = address // self._line
        self._sets.forget(line, line)

    def clear(self) -> None:
        """No line is."""
        self._sets.clear()


def _level_key(asid: int, level: int, prefix: int) -> int:
    return level << _LEVEL_SHIFT | asid << ASID_SHIFT | prefix
