"""Replacement policies: against straightforward models of them, and in scenes made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.translation import WalkCacheConfig
from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, policy_names
from gpusim.core.replacement import Replacement, make_replacement
from gpusim.files.units import Bytes
from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.walk import LevelWalkCache, LineWalkCache
from tests.examples import examples

from .naive_replacement import NAIVE

POLICIES = ("brrip", "fifo", "lru", "plru", "random", "srrip")

Op = tuple[str, int]
"""What happens to a key: it is used (and brought in, if it is not there), or goes."""

OPS = st.lists(
    st.tuples(st.sampled_from(["use", "use", "use", "remove"]), st.integers(0, 13)), max_size=120
)


class Array:
    """One set of the smallest array that keeps to the contract."""

    def __init__(self, policy: Replacement, ways: int) -> None:
        self.policy = policy
        self.room = ways
        policy.adopt({}, 3)  # another set of the same structure, of which nothing is heard
        self.entries: dict[int, Any] = {}
        self.number = policy.adopt(self.entries, ways)

    def use(self, key: int) -> int | None:
        if key in self.entries:
            self.policy.touch(self.number, key)
            return None
        victim = None
        if len(self.entries) == self.room:
            victim = self.policy.victim(self.number)
            self.remove(victim)
        self.entries[key] = None
        self.policy.insert(self.number, key)
        return victim

    def remove(self, key: int) -> bool:
        if key not in self.entries:
            return False
        del self.entries[key]
        self.policy.forget(self.number, key)
        return True


def made(name: str, ways: int = 4, **options: int) -> Array:
    return Array(make_replacement(PolicyConfig(name, options), ways), ways)


def run(array: Array, keys: Any) -> list[int]:
    """Use keys one after another; what goes for them."""
    return [gone for key in keys if (gone := array.use(key)) is not None]


def test_these_come_along() -> None:
    assert set(POLICIES) <= set(policy_names(Slot.REPLACEMENT))


@pytest.mark.parametrize("name", NAIVE)
@given(st.sampled_from([1, 2, 4, 8]), OPS)
def test_against_the_naive_policy(name: str, ways: int, ops: list[Op]) -> None:
    naive, options = NAIVE[name]
    slow, array = naive(ways), made(name, ways, **options)
    for what, key in ops:
        assert getattr(array, what)(key) == getattr(slow, what)(key)
        assert set(array.entries) == {key for key in slow.ways if key is not None}


@pytest.mark.parametrize("name", POLICIES)
@given(st.sampled_from([2, 4, 8]), OPS)
def test_a_reserved_place_is_no_victim(name: str, ways: int, ops: list[Op]) -> None:
    """A set is full of its entries and of places that are free only for what is under way."""
    array = made(name, ways)
    for what, key in ops:
        getattr(array, what)(key)
        if array.entries:
            assert array.policy.victim(array.number) in array.entries


# -- in arrays -----------------------------------------------------------------------------------


class Cache:
    """One set of a cache, used by loads that bring their line in."""

    def __init__(self, name: str, options: dict[str, int], ways: int) -> None:
        self.array = CacheArray(ways, ways, replacement=PolicyConfig(name, options))

    def use(self, line: int) -> int | None:
        if not self.array.missing(line, 1):
            return None
        gone, left = self.array.fill(line, 1)
        return gone if left else None

    def remove(self, line: int) -> bool:
        return bool(self.array.remove(line))


@settings(max_examples=examples(200))
@pytest.mark.parametrize("name", NAIVE)
@given(st.sampled_from([1, 4]), OPS)
def test_a_cache_replaces_as_its_policy_says(name: str, ways: int, ops: list[Op]) -> None:
    naive, options = NAIVE[name]
    slow, cache = naive(ways), Cache(name, options, ways)
    for what, line in ops:
        assert getattr(cache, what)(line) == getattr(slow, what)(line)


@settings(max_examples=examples(200))
@pytest.mark.parametrize("name", NAIVE)
@given(st.lists(st.integers(0, 13), max_size=120))
def test_a_walk_cache_replaces_as_its_policy_says(name: str, lines: list[int]) -> None:
    naive, options = NAIVE[name]
    slow = naive(4)
    cache = LineWalkCache(
        WalkCacheConfig("lines", size=Bytes(256), replacement=PolicyConfig(name, options))
    )
    for line in lines:
        assert cache.probe(64 * line) == (line in slow.ways)
        cache.insert(64 * line)
        slow.use(line)


@pytest.mark.parametrize(("name", "covered"), [("lru", 1), ("fifo", 0), ("plru", 1)])
def test_an_entry_of_an_upper_level_that_was_used_again(name: str, covered: int) -> None:
    cache = LevelWalkCache(WalkCacheConfig("levels", entries=2, replacement=PolicyConfig(name)))
    first, second, third = (10, 0), (20, 0), (30, 0)
    for prefixes in (first, second):
        assert cache.covered(0, prefixes) == 0
        cache.insert(0, 0, prefixes)
    assert cache.covered(0, first) == 1
    cache.insert(0, 0, third)
    assert cache.covered(0, first) == covered


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("ways", [1, 2, 8])
def test_a_set_that_was_emptied_fills_again(name: str, ways: int) -> None:
    array = CacheArray(2 * ways, ways, replacement=PolicyConfig(name))
    for _ in range(3):
        assert [array.fill(line, 1) for line in range(2 * ways)] == [(0, 0)] * 2 * ways
        assert array.fill(2 * ways, 1)[1]
        array.clear()
        assert not list(array.lines())


# -- scenes --------------------------------------------------------------------------------------


def test_srrip_keeps_what_is_used_again_through_a_scan() -> None:
    scan = range(10, 16)
    srrip, lru = made("srrip"), made("lru")
    for array in (srrip, lru):
        run(array, [1, 2, 1, 2])
    assert run(srrip, scan) == [10, 11, 12, 13]
    assert run(lru, scan) == [1, 2, 10, 11]
    assert srrip.use(16) == 1  # a longer one ages them away


def test_srrip_ages_all_entries_until_one_is_distant() -> None:
    array = made("srrip")
    run(array, [1, 2, 3, 4, 1])  # predictions 0 2 2 2
    assert array.use(5) == 2  # all age by one: 1 3 3 3; 5 comes with 2 into the place of 2
    assert run(array, [6, 7]) == [3, 4]  # 1 2 2 2
    assert array.use(8) == 5  # 2 3 3 3 before 8 comes
    assert run(array, [9, 10, 11]) == [6, 7, 1]  # 1 goes at last: 3 3 3 3, and the first way goes


def test_srrip_of_one_bit_is_not_recently_used() -> None:
    array = made("srrip", bits=1)
    assert run(array, [1, 2, 3, 4, 5]) == [1]  # all were recent; all age, the first way goes
    assert array.use(3) is None
    assert run(array, [6, 7]) == [2, 4]  # 5 and 3 are recent


def test_brrip_keeps_part_of_what_does_not_fit() -> None:
    turns = [key for _ in range(40) for key in range(8)]
    hits = {}
    for name in ("brrip", "srrip", "lru"):
        array = made(name)
        hits[name] = sum(_hit(array, key) for key in turns)
    assert hits["lru"] == hits["srrip"] == 0
    assert hits["brrip"] > len(turns) // 4


def _hit(array: Array, key: int) -> bool:
    there = key in array.entries
    array.use(key)
    return there


def test_brrip_gives_one_new_entry_of_so_many_a_chance() -> None:
    array = made("brrip", throttle=3)
    run(array, [1, 2, 3, 4])  # predictions 3 3 2 3
    assert run(array, [5, 6]) == [1, 5]  # 5 was distant; 6 is the sixth and long: 2 3 2 3
    assert run(array, [7, 8]) == [2, 7]  # 2 3 2 3
    assert array.use(9) == 8  # long: 2 2 2 3
    assert array.use(10) == 4


def test_plru_follows_its_tree() -> None:
    array = made("plru")
    run(array, [1, 2, 3, 4])  # the root leads to the left half, there to the first way
    assert array.use(1) is None  # now to the right half, there to the third way
    assert array.use(5) == 3  # now to the left half, away from the first way
    assert array.use(6) == 2  # (true LRU would say so, too)
    assert array.use(7) == 4
    assert array.use(8) == 1
    run(array, [6, 8])  # the left half was used twice, so the right half goes
    assert array.use(9) == 5


def test_plru_is_not_lru() -> None:
    lru, plru = made("lru"), made("plru")
    for array in (lru, plru):
        run(array, [1, 2, 3, 4, 1, 3, 4, 1])
    assert lru.use(9) == 2
    assert plru.use(9) == 3  # the last use, of 1, points to the other half, and 4 there to 3


@pytest.mark.parametrize("ways", [1, 2, 4, 64])
def test_plru_serves_powers_of_two(ways: int) -> None:
    assert made("plru", ways).policy.refusal(ways) == ""


@pytest.mark.parametrize("ways", [3, 6, 12])
def test_plru_refuses_others(ways: int) -> None:
    with pytest.raises(OptionError, match=f"ways must be a power of two, not {ways}"):
        made("plru", ways)


def test_random_draws_the_same_numbers_from_the_same_seed() -> None:
    keys = [key * 7 % 101 for key in range(400)]
    first = run(made("random"), keys)
    assert run(made("random", seed=1), keys) == first
    assert run(made("random", seed=2), keys) != first


def test_random_evicts_every_way_about_as_often() -> None:
    policy = make_replacement(PolicyConfig("random"), 4)
    number = policy.adopt(dict.fromkeys(range(4)), 4)
    counts = [0] * 4
    for _ in range(4000):
        counts[policy.victim(number)] += 1
    assert all(850 < count < 1150 for count in counts)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("random", {"seed": 0}, "seed: must be 1 to 4294967295"),
        ("random", {"seed": 1 << 32}, "seed: must be 1 to 4294967295"),
        ("srrip", {"bits": 0}, "bits: must be 1 or more"),
        ("brrip", {"throttle": 0}, "throttle: must be 1 or more"),
    ],
)
def test_options_that_cannot_be(name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        made(name, **options)
