"""Page-walk caches: what a walk need not read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpusim.config.translation import WalkCacheConfig
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.replacement import make_replacement, victim_of
from gpusim.core.structures import VIRTUAL_BITS, Dimensions, Storage, bits_for
from gpusim.core.unboxed import IntDict

_LEVEL_SHIFT: Final = 60

_TABLE_BITS: Final = 12
"""Bits of an address within a table, a page of 4 KiB."""

_UPPER_LEVELS: Final = 4
"""Levels above the leaves that a page table has at most."""


class _Sets:
    """Keys in sets; a set is picked by the low bits.

    Args:
        config: how many entries and ways.
        parts: how often it has all of these, side by side.
    """

    __slots__ = ("_sets", "_ways", "replacement")

    def __init__(self, config: WalkCacheConfig, parts: int = 1) -> None:
        self._ways = config.ways or config.blocks
        self.replacement = make_replacement(config.replacement, self._ways)
        sets = parts * (config.blocks // self._ways)
        self._sets: list[IntDict[bool]] = [IntDict() for _ in range(sets)]
        for one in self._sets:  # numbered in this order
            self.replacement.adopt(one, self._ways)

    def use(self, index: int, key: int) -> bool:
        """Whether `key` is there; if so, that is a use of it."""
        index %= len(self._sets)
        found = key in self._sets[index]
        if found:
            self.replacement.touch(index, key)
        return found

    def insert(self, index: int, key: int) -> int:
        """Take in `key`; if it is there already, that is a use of it.

        Returns:
            The key that went for it; -1: none.
        """
        if self.use(index, key):
            return -1
        index %= len(self._sets)
        keys = self._sets[index]
        gone = -1
        if len(keys) >= self._ways:
            gone = victim_of(self.replacement, index, keys)
            del keys[gone]
            self.replacement.forget(index, gone)
        keys[key] = True
        self.replacement.insert(index, key)
        return gone

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
    """What all kinds have in common.

    Args:
        config: its table.
        parts: see `_Sets`.

    Attributes:
        replacement: which entry of a set goes.
    """

    def __init__(self, config: WalkCacheConfig, parts: int = 1) -> None:
        self._sets = _Sets(config, parts)
        self.replacement = self._sets.replacement


class LevelWalkCache(WalkCache):
    """Upper-level entries of the page table (STAR §II-B: 128 entries shared by the walkers).

    A walk starts below the deepest level that is cached; leaf entries are what TLBs are for and
    are not kept.
    """

    def covered(self, asid: int, prefixes: tuple[int, ...]) -> int:
        """How many levels, from the root, a walk of these prefixes can skip."""
        for level in range(len(prefixes) - 2, -1, -1):
            prefix = prefixes[level]
            if self._sets.use(self._place(level, prefix), _level_key(asid, level, prefix)):
                return level + 1
        return 0

    def insert(self, asid: int, level: int, prefixes: tuple[int, ...]) -> None:
        """Keep the entry that a walk read at `level` (0 is the root), unless it is a leaf."""
        if level < len(prefixes) - 1:
            prefix = prefixes[level]
            self._sets.insert(self._place(level, prefix), _level_key(asid, level, prefix))

    def _place(self, level: int, prefix: int) -> int:
        """Whose low bits pick the set of an entry."""
        return prefix


class SplitWalkCache(LevelWalkCache):
    """Each upper level has entries of its own (Barr et al., ISCA 2010: split translation cache).

    Levels do not take each other's places; an entry needs no bits that tell its level.
    """

    def __init__(self, config: WalkCacheConfig) -> None:
        super().__init__(config, _UPPER_LEVELS)
        self._of_a_level = config.blocks // (config.ways or config.blocks)

    def _place(self, level: int, prefix: int) -> int:
        return level * self._of_a_level + prefix % self._of_a_level


class PathWalkCache(LevelWalkCache):
    """An entry is a whole path (Barr et al., ISCA 2010: translation-path cache).

    Its tag is the prefix of the lowest upper level, in which those of the levels above are
    contained; it has the tables of all of them.  A walk begins below the lowest level at which the
    path of any entry is its own.  That is a use of the entry, of several of the one that came last
    [our choice].  A path is kept when its lowest upper level has been read.
    """

    def __init__(self, config: WalkCacheConfig) -> None:
        super().__init__(config)
        self._paths: dict[int, list[int]] = {}
        """By key of an entry: the keys of the levels of its path."""
        self._sharing: dict[int, dict[int, None]] = {}
        """By key of a level: the keys of the entries whose paths have it, the last one last."""

    def covered(self, asid: int, prefixes: tuple[int, ...]) -> int:
        for level in range(len(prefixes) - 2, -1, -1):
            sharing = self._sharing.get(_level_key(asid, level, prefixes[level]))
            if sharing is not None:
                self._sets.use(0, next(reversed(sharing)))
                return level + 1
        return 0

    def insert(self, asid: int, level: int, prefixes: tuple[int, ...]) -> None:
        if level != len(prefixes) - 2:
            return
        key = _level_key(asid, level, prefixes[level])
        gone = self._sets.insert(0, key)
        if gone >= 0:
            for part in self._paths.pop(gone):
                self._unshare(part, gone)
        if key in self._paths:
            return
        path = [_level_key(asid, one, prefixes[one]) for one in range(level + 1)]
        self._paths[key] = path
        for part in path:
            self._sharing.setdefault(part, {})[key] = None

    def _unshare(self, part: int, key: int) -> None:
        """An entry goes whose path has a level."""
        del self._sharing[part][key]
        if not self._sharing[part]:
            del self._sharing[part]


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


def walk_cache_storage(config: WalkCacheConfig, dimensions: Dimensions) -> Sequence[Storage]:
    """What a page-walk cache keeps in hardware."""
    upper = dimensions.page_table_levels - 1
    memory = dimensions.frame_bits + VIRTUAL_BITS - dimensions.page_bits
    table, prefix = memory - _TABLE_BITS, upper * dimensions.index_bits
    if config.kind == "lines":
        fields = {"tag": memory - bits_for(config.line), "line": 8 * config.line}
        return [Storage("page-table lines", config.blocks, fields)]
    if config.kind == "paths":
        fields = {"prefix": prefix, "tables": upper * table}
        return [Storage("page-table paths", config.entries, fields)]
    if config.kind == "levels":
        fields = {"level": bits_for(upper), "prefix": prefix, "table": table}
        return [Storage("page-table entries", config.entries, fields)]
    return [
        Storage(
            f"page-table entries of level {level}",
            config.entries,
            {"prefix": level * dimensions.index_bits, "table": table},
        )
        for level in range(1, upper + 1)
    ]
