"""Page-walk caches: what a walk need not read again."""

from __future__ import annotations

from gpusim.config.schema import WalkCacheConfig
from gpusim.core.mapping import ASID_SHIFT

_LEVEL_SHIFT = 60


class _LruSets:
    """Keys in sets of `ways`, least recently used first; a set is picked by the low bits."""

    __slots__ = ("_sets", "_ways")

    def __init__(self, entries: int, ways: int) -> None:
        self._ways = ways or entries
        self._sets: list[dict[int, None]] = [{} for _ in range(entries // self._ways)]

    def touch(self, index: int, key: int) -> bool:
        """Whether `key` is there; if so, it is now the most recently used."""
        keys = self._sets[index % len(self._sets)]
        if key not in keys:
            return False
        del keys[key]
        keys[key] = None
        return True

    def insert(self, index: int, key: int) -> None:
        """Take in `key` (or make it the most recently used)."""
        keys = self._sets[index % len(self._sets)]
        if key in keys:
            del keys[key]
        elif len(keys) >= self._ways:
            del keys[next(iter(keys))]
        keys[key] = None

    def forget(self, index: int, key: int) -> None:
        """`key` is no longer there."""
        self._sets[index % len(self._sets)].pop(key, None)

    def clear(self) -> None:
        """Nothing is there any more."""
        for keys in self._sets:
            keys.clear()


class LevelWalkCache:
    """Upper-level entries of the page table (STAR §II-B: 128 entries shared by the walkers).

    A walk starts below the deepest level that is cached; leaf entries are what TLBs are for and
    are not kept.
    """

    def __init__(self, config: WalkCacheConfig) -> None:
        self._entries = _LruSets(config.entries, config.ways)

    def covered(self, asid: int, prefixes: tuple[int, ...]) -> int:
        """How many levels, from the root, a walk of these prefixes can skip."""
        for level in range(len(prefixes) - 2, -1, -1):
            if self._entries.touch(prefixes[level], _level_key(asid, level, prefixes[level])):
                return level + 1
        return 0

    def insert(self, asid: int, level: int, prefixes: tuple[int, ...]) -> None:
        """Keep the entry that a walk read at `level` (0 is the root), unless it is a leaf."""
        if level < len(prefixes) - 1:
            self._entries.insert(prefixes[level], _level_key(asid, level, prefixes[level]))


class LineWalkCache:
    """Lines of the page table by physical address (MASK §III: 8 KiB, 16 ways)."""

    def __init__(self, config: WalkCacheConfig) -> None:
        self._line = config.line
        self._lines = _LruSets(config.size // config.line, config.ways)

    def probe(self, address: int) -> bool:
        """Whether the line of a page-table entry is there."""
        line = address // self._line
        return self._lines.touch(line, line)

    def insert(self, address: int) -> None:
        """Keep the line of a page-table entry that was read."""
        line = address // self._line
        self._lines.insert(line, line)

    def forget(self, address: int) -> None:
        """The line of a page-table entry is no longer valid."""
        line = address // self._line
        self._lines.forget(line, line)

    def clear(self) -> None:
        """No line is."""
        self._lines.clear()


def _level_key(asid: int, level: int, prefix: int) -> int:
    return level << _LEVEL_SHIFT | asid << ASID_SHIFT | prefix
