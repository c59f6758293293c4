"""Page-walk caches against naive ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import WalkCacheConfig
from gpusim.core.structures import Dimensions
from gpusim.files.units import Bytes
from gpusim.hardware.walk import (
    LevelWalkCache,
    LineWalkCache,
    PathWalkCache,
    SplitWalkCache,
    walk_cache_storage,
)
from tests.examples import examples

SHIFTS = (27, 18, 9, 0)


class NaiveLru:
    """All keys ever kept, with the time of their last use; sets are found by a search."""

    def __init__(self, entries: int, ways: int) -> None:
        self.ways = ways or entries
        self.sets = entries // self.ways
        self.used: dict[Any, tuple[int, int]] = {}
        self.time = 0

    def touch(self, index: int, key: Any) -> bool:
        self.time += 1
        if key in self.used:
            self.used[key] = (index % self.sets, self.time)
            return True
        return False

    def insert(self, index: int, key: Any) -> None:
        self.time += 1
        own = {k: t for k, (s, t) in self.used.items() if s == index % self.sets}
        if key not in own and len(own) == self.ways:
            del self.used[min(own, key=lambda k: own[k])]
        self.used[key] = (index % self.sets, self.time)


def prefixes(vpn: int) -> tuple[int, ...]:
    return tuple(vpn >> shift for shift in SHIFTS)


shapes = st.sampled_from([(1, 0), (2, 1), (4, 2), (4, 0), (8, 4), (16, 0)])
# Few distinct values at each level, so that walks share parts of their paths.
vpns = st.builds(
    lambda *parts: sum(part << shift for part, shift in zip(parts, SHIFTS, strict=True)),
    st.integers(0, 1),
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(0, 1),
)


@settings(max_examples=examples(200), deadline=None)
@given(shapes, st.lists(st.tuples(st.integers(0, 1), vpns), max_size=50))
def test_levels(shape: tuple[int, int], walks: list[tuple[int, int]]) -> None:
    cache = LevelWalkCache(WalkCacheConfig("levels", entries=shape[0], ways=shape[1]))
    naive = NaiveLru(*shape)
    for asid, vpn in walks:
        path = prefixes(vpn)
        expected = 0
        for level in (2, 1, 0):
            if naive.touch(path[level], (asid, level, path[level])):
                expected = level + 1
                break
        assert cache.covered(asid, path) == expected
        for level in range(expected, 4):
            cache.insert(asid, level, path)
            if level < 3:
                naive.insert(path[level], (asid, level, path[level]))


@settings(max_examples=examples(200), deadline=None)
@given(
    shapes,
    st.sampled_from([32, 64, 128]),
    st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=80),
)
def test_lines(shape: tuple[int, int], line: int, calls: list[tuple[bool, int]]) -> None:
    entries, ways = shape
    cache = LineWalkCache(
        WalkCacheConfig("lines", size=Bytes(entries * line), ways=ways, line=Bytes(line))
    )
    naive = NaiveLru(entries, ways)
    for probe, entry in calls:
        address = 0x3F000000 + 24 * entry
        if probe:
            assert cache.probe(address) == naive.touch(address // line, address // line)
        else:
            cache.insert(address)
            naive.insert(address // line, address // line)


@settings(max_examples=examples(200), deadline=None)
@given(shapes, st.lists(st.tuples(st.integers(0, 1), vpns), max_size=50))
def test_split_levels(shape: tuple[int, int], walks: list[tuple[int, int]]) -> None:
    cache = SplitWalkCache(WalkCacheConfig("split", entries=shape[0], ways=shape[1]))
    naive = [NaiveLru(*shape) for _ in range(3)]
    for asid, vpn in walks:
        path = prefixes(vpn)
        expected = 0
        for level in (2, 1, 0):
            if naive[level].touch(path[level], (asid, path[level])):
                expected = level + 1
                break
        assert cache.covered(asid, path) == expected
        for level in range(expected, 4):
            cache.insert(asid, level, path)
            if level < 3:
                naive[level].insert(path[level], (asid, path[level]))


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from([1, 2, 4]), st.lists(st.tuples(st.integers(0, 1), vpns), max_size=50))
def test_paths(entries: int, walks: list[tuple[int, int]]) -> None:
    cache = PathWalkCache(WalkCacheConfig("paths", entries=entries))
    kept: list[tuple[int, tuple[int, ...]]] = []  # in the order in which they came
    used: list[tuple[int, tuple[int, ...]]] = []  # the one used longest ago first
    for asid, vpn in walks:
        path = prefixes(vpn)
        expected = 0
        for levels in (3, 2, 1):
            sharing = [one for one in kept if one[0] == asid and one[1][:levels] == path[:levels]]
            if sharing:
                used.append(used.pop(used.index(sharing[-1])))
                expected = levels
                break
        assert cache.covered(asid, path) == expected
        for level in range(expected, 4):
            cache.insert(asid, level, path)
        if expected < 3:
            if len(used) == entries:
                kept.remove(used.pop(0))
            kept.append((asid, path[:3]))
            used.append(kept[-1])


def test_a_path_is_kept_when_its_lowest_upper_level_is_read() -> None:
    cache = PathWalkCache(WalkCacheConfig("paths", entries=2))
    path = prefixes(12345678)
    cache.insert(0, 0, path)
    cache.insert(0, 1, path)
    assert cache.covered(0, path) == 0
    cache.insert(0, 2, path)
    cache.insert(0, 2, path)  # by another walk
    assert cache.covered(0, path) == 3
    assert cache.covered(0, (path[0], path[1], 0, 0)) == 2


def test_what_they_keep() -> None:
    """48-bit addresses, four levels, 32 bits of physical addresses: tables have 20 bits."""
    sizes = Dimensions(page_bits=36, frame_bits=20, sms=1, block_slots=1, page_table_levels=4)

    def bits(kind: str, **change: Any) -> list[int]:
        config = WalkCacheConfig(kind, entries=8, size=Bytes(512), **change)
        return [one.bits for one in walk_cache_storage(config, sizes)]

    assert bits("levels") == [8 * (2 + 27 + 20)]
    assert bits("split") == [8 * (9 + 20), 8 * (18 + 20), 8 * (27 + 20)]
    assert bits("paths") == [8 * (27 + 3 * 20)]
    assert bits("lines") == [8 * (26 + 512)]


def test_a_leaf_is_never_kept() -> None:
    cache = LevelWalkCache(WalkCacheConfig("levels", entries=8))
    path = prefixes(12345678)
    cache.insert(0, 3, path)
    assert cache.covered(0, path) == 0
    cache.insert(0, 1, path)
    assert cache.covered(0, path) == 2
    assert cache.covered(1, path) == 0, "another address space"


def test_equal_prefixes_of_two_levels_are_two_entries() -> None:
    cache = LevelWalkCache(WalkCacheConfig("levels", entries=8))
    cache.insert(0, 0, (0, 0, 0, 0))
    assert cache.covered(0, (0, 0, 0, 0)) == 1
