"""Neighbouring lines of one bank, and the banks that they go to."""

from __future__ import annotations

from collections import Counter

from gpusim.core.interleaving import XOR, GroupedInterleaving, HashedInterleaving
from gpusim.hardware.cache.renamed_arrays import GroupedCacheArray

BANKS, GROUP = 5, 4


def test_lines_of_a_group_share_a_bank_and_groups_take_turns() -> None:
    grouped = GroupedInterleaving(HashedInterleaving(XOR, BANKS), BANKS, 2)
    parts = [grouped.part(line) for line in range(2 * BANKS * GROUP)]
    assert all(len(set(parts[i : i + GROUP])) == 1 for i in range(0, len(parts), GROUP))
    for turn in (parts[: BANKS * GROUP], parts[BANKS * GROUP :]):
        assert set(Counter(turn).values()) == {GROUP}


def test_without_a_hash_groups_go_round() -> None:
    grouped = GroupedInterleaving(None, BANKS, 2)
    assert [grouped.part(line) for line in range(0, 24, 4)] == [0, 1, 2, 3, 4, 0]


def test_a_bank_uses_all_of_its_sets_alike() -> None:
    hashing = GroupedInterleaving(HashedInterleaving(XOR, BANKS), BANKS, 2)
    array = GroupedCacheArray(64, 2, BANKS, GROUP)
    mine = [line for line in range(BANKS * 64) if hashing.part(line) == 3]
    assert len(mine) == 64
    for line in mine:
        array.fill(line, 1)
        assert array.state(line) == 1
    assert sorted(array.lines()) == mine
    assert set(Counter(map(array.set_of, mine)).values()) == {2}


def test_what_leaves_has_its_own_name() -> None:
    array = GroupedCacheArray(4, 2, BANKS, GROUP)
    first = 3 * GROUP * BANKS + 2 * GROUP + 1
    array.fill(first, 1)
    apart = 4 * BANKS * GROUP  # the same set again
    found = [array.fill(first + turn * apart, 1) for turn in (1, 2)]
    assert [gone for gone, state in found if state] == [first]
    assert array.evict(first) == (first + apart, 1)
