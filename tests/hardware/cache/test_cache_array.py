"""The cache array against a list of lines a set."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.even_split import split_ways
from gpusim.hardware.cache.array import DIRTY, CacheArray
from tests.examples import examples


class NaiveCache:
    """A list a set of ``[line, sectors, dirty]``, least recently used first."""

    def __init__(self, lines: int, ways: int, interleave: int) -> None:
        self.ways, self.interleave = ways, interleave
        self.sets: list[list[list[Any]]] = [[] for _ in range(lines // ways)]

    def _use(self, line: int) -> tuple[list[list[Any]], list[Any] | None]:
        lines = self.sets[(line // self.interleave) % len(self.sets)]
        for index, entry in enumerate(lines):
            if entry[0] == line:
                lines.append(lines.pop(index))
                return lines, entry
        return lines, None

    def missing(self, line: int, sectors: set[int]) -> set[int]:
        entry = self._use(line)[1]
        return sectors - entry[1] if entry else sectors

    def fill(self, line: int, sectors: set[int], dirty: bool) -> Any:
        lines, entry = self._use(line)
        victim = None
        if entry is None:
            if len(lines) == self.ways:
                victim = lines.pop(0)
            entry = [line, set(), False]
            lines.append(entry)
        entry[1] |= sectors
        entry[2] |= dirty
        return victim

    def mark_dirty(self, line: int) -> None:
        for entry in self.sets[(line // self.interleave) % len(self.sets)]:
            if entry[0] == line:
                entry[2] = True

    def holds(self, line: int) -> bool:
        return any(entry[0] == line for entries in self.sets for entry in entries)

    def remove(self, line: int) -> bool:
        held = self.holds(line)
        self.sets = [[e for e in entries if e[0] != line] for entries in self.sets]
        return held

    def clear(self) -> None:
        self.sets = [[] for _ in self.sets]


def mask(sectors: set[int]) -> int:
    return sum(1 << sector for sector in sectors)


sector_sets = st.sets(st.integers(0, 7), min_size=1)
numbers = st.integers(0, 7)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("missing"), numbers, sector_sets, st.just(False)),
        st.tuples(st.just("fill"), numbers, sector_sets, st.booleans()),
        st.tuples(st.just("fill"), numbers, sector_sets, st.booleans()),
        st.tuples(st.just("mark"), numbers, sector_sets, st.just(False)),
        st.tuples(st.just("remove"), numbers, sector_sets, st.just(False)),
        st.tuples(st.just("clear"), st.just(0), sector_sets, st.just(False)),
    ),
    min_size=20,
    max_size=80,
)


@settings(max_examples=examples(250), deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 4), actions)
def test_against_the_naive_cache(ways: int, sets: int, interleave: int, calls: list[Any]) -> None:
    array = CacheArray(ways * sets, ways, interleave)
    naive = NaiveCache(ways * sets, ways, interleave)
    for what, line, sectors, dirty in calls:
        if what == "missing":
            assert array.missing(line, mask(sectors)) == mask(naive.missing(line, sectors))
        elif what == "fill":
            victim = array.fill(line, mask(sectors) | (DIRTY if dirty else 0))
            expected = naive.fill(line, sectors, dirty)
            if expected is None:
                assert not victim[1]
            else:
                assert victim == (expected[0], mask(expected[1]) | (DIRTY if expected[2] else 0))
        elif what == "mark" and naive.holds(line):
            array.mark(line, DIRTY)
            naive.mark_dirty(line)
        elif what == "remove":
            assert bool(array.remove(line)) == naive.remove(line)
        elif what == "clear":
            array.clear()
            naive.clear()


def test_a_lookup_counts_as_a_use() -> None:
    array = CacheArray(lines=2, ways=2)
    array.fill(10, 1)
    array.fill(20, 1)
    assert array.missing(10, 1) == 0
    assert array.fill(30, 1) == (20, 1)


def test_a_bank_that_sees_every_fourth_line_uses_all_sets() -> None:
    array = CacheArray(lines=8, ways=1, interleave=4)
    assert all(array.fill(line, 1) == (0, 0) for line in range(2, 34, 4))  # bank 2 of 4
    assert all(array.missing(line, 1) == 0 for line in range(2, 34, 4))


def test_dirty_is_no_sector() -> None:
    array = CacheArray(lines=1, ways=1)
    array.fill(0, 0b0001 | DIRTY)
    assert array.missing(0, 0xFF) == 0xFE
    assert array.fill(1, 1) == (0, DIRTY | 1)


@given(st.integers(1, 40), st.integers(1, 40))
def test_ways_are_split_as_equally_as_can_be(ways: int, parts: int) -> None:
    shares = split_ways(ways, parts)
    assert sum(shares) == ways
    assert len(shares) == parts
    assert max(shares) - min(shares) <= 1
