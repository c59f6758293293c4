"""Page-walk caches against naive ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import WalkCacheConfig
from gpusim.config.units import Bytes
from gpusim.hardware.walk import LevelWalkCache, LineWalkCache
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
    st.integers(0, 1), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1),
)  # fmt: skip


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
    shapes, st.sampled_from([32, 64, 128]),
    st.lists(st.tuples(st.booleans(), st.integers(0, 11)), max_size=80),
)  # fmt: skip
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
