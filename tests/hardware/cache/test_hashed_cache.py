"""Sets of a cache chosen by a hash, against lists of lines and bits written out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.mapping import ASID_SHIFT
from gpusim.hardware.cache.array import DIRTY
from gpusim.hardware.cache.renamed_arrays import HashedCacheArray
from tests.examples import examples

LINES = (
    st.integers(0, (1 << ASID_SHIFT) - 1) | st.integers(0, 40) | st.integers(0, 40).map((8).__mul__)
)


def set_by_bits(line: int, sets: int) -> int:
    """The XOR of all groups of bits, from the written number."""
    width = sets.bit_length() - 1
    written = f"{line:0{ASID_SHIFT}b}"[::-1]
    if not width:
        return 0
    groups = [written[at : at + width][::-1] for at in range(0, len(written), width)]
    folded = 0
    for group in groups:
        folded ^= int(group, 2)
    return folded


@settings(max_examples=examples(100), deadline=None)
@given(
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3),
    st.lists(st.tuples(st.sampled_from(["fill", "look", "remove", "evict", "dirty"]), LINES)),
)
def test_least_recently_used_lines_of_hashed_sets(
    sets: int, ways: int, operations: list[tuple[str, int]]
) -> None:
    array = HashedCacheArray(sets * ways, ways)
    naive: list[list[int]] = [[] for _ in range(sets)]
    dirty: set[int] = set()
    for operation, line in operations:
        mine = naive[set_by_bits(line, sets)]
        assert array.set_of(line) == set_by_bits(line, sets)
        assert array.used(line) == len(mine)
        if operation == "fill":
            gone = mine.pop(0) if line not in mine and len(mine) == ways else None
            found = array.fill(line, 1)
            assert found == (0, 0) if gone is None else (gone, 1 | (DIRTY if gone in dirty else 0))
            dirty.discard(-1 if gone is None else gone)
        if operation == "evict" and mine:
            gone = mine.pop(0)
            assert array.evict(line) == (gone, 1 | (DIRTY if gone in dirty else 0))
            dirty.discard(gone)
        if operation == "look":
            assert array.missing(line, 1) == int(line not in mine)
        if operation == "remove":
            assert bool(array.remove(line)) == (line in mine)
            mine[:] = [one for one in mine if one != line]
            dirty.discard(line)
        if operation == "dirty" and line in mine:
            array.mark(line, DIRTY)
            dirty.add(line)
        if operation == "fill" or (operation == "look" and line in mine):
            mine[:] = [one for one in mine if one != line] + [line]
        assert bool(array.state(line) & DIRTY) == (line in dirty)
    assert sorted(array.lines()) == sorted(line for mine in naive for line in mine)
    array.clear()
    assert not list(array.lines())


def test_rows_a_power_of_two_apart_have_sets_of_their_own() -> None:
    """512 rows, 64 KiB apart, of an L1 cache of 64 KiB with two ways and lines of 64 bytes."""
    array = HashedCacheArray(1024, 2)
    assert len({array.set_of(row << 10) for row in range(512)}) == 512


def test_address_spaces_do_not_matter() -> None:
    array = HashedCacheArray(64, 2)
    assert array.set_of(3 << ASID_SHIFT | 12345) == array.set_of(12345)
