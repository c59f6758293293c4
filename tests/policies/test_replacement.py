"""Replacement policies: each against a straightforward model of it, in an array of a few sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.policy import PolicyConfig
from gpusim.core.registry import Slot, make_policy
from gpusim.core.replacement import Replacement

SETS, WAYS = 2, 4

Op = tuple[str, int]
"""What happens to a key: it is used (and brought in, if it is not there), or goes."""

OPS = st.lists(
    st.tuples(st.sampled_from(["use", "use", "use", "remove"]), st.integers(0, 15)), max_size=150
)


class Array:
    """The smallest array that keeps to the contract."""

    def __init__(self, policy: Replacement, sets: int = SETS, ways: int = WAYS) -> None:
        self.policy = policy
        self.ways = ways
        self.sets: list[dict[int, Any]] = [{} for _ in range(sets)]
        self.numbers = [policy.adopt(entries, ways) for entries in self.sets]
        self.evicted: list[int] = []

    def use(self, key: int) -> bool:
        entries, number = self._set(key)
        if key in entries:
            self.policy.touch(number, key)
            return True
        if len(entries) >= self.ways:
            victim = self.policy.victim(number)
            self._remove(victim)
            self.evicted.append(victim)
        entries[key] = None
        self.policy.insert(number, key)
        return False

    def remove(self, key: int) -> None:
        if key in self._set(key)[0]:
            self._remove(key)

    def _remove(self, key: int) -> None:
        entries, number = self._set(key)
        del entries[key]
        self.policy.forget(number, key)

    def _set(self, key: int) -> tuple[dict[int, Any], int]:
        return self.sets[key % len(self.sets)], self.numbers[key % len(self.sets)]


def made(name: str, **options: int) -> Array:
    return Array(make_policy(Slot.REPLACEMENT, PolicyConfig(name, options)))


def run(array: Array, ops: list[Op]) -> list[int]:
    for what, key in ops:
        getattr(array, what)(key)
    return array.evicted


class Stamps:
    """Evicts the entry with the lowest stamp: of its last use, or of its coming (`uses` False)."""

    def __init__(self, *, uses: bool) -> None:
        self.uses = uses
        self.stamps: list[dict[int, int]] = [{} for _ in range(SETS)]
        self.evicted: list[int] = []
        self.now = 0

    def use(self, key: int) -> None:
        stamps = self.stamps[key % SETS]
        self.now += 1
        if key not in stamps and len(stamps) == WAYS:
            victim = min(stamps, key=lambda one: stamps[one])
            del stamps[victim]
            self.evicted.append(victim)
        if key not in stamps or self.uses:
            stamps[key] = self.now

    def remove(self, key: int) -> None:
        self.stamps[key % SETS].pop(key, None)


@given(OPS)
def test_lru_evicts_what_was_used_longest_ago(ops: list[Op]) -> None:
    oracle = Stamps(uses=True)
    for what, key in ops:
        getattr(oracle, what)(key)
    assert run(made("lru"), ops) == oracle.evicted


@given(OPS)
def test_fifo_evicts_what_came_first(ops: list[Op]) -> None:
    oracle = Stamps(uses=False)
    for what, key in ops:
        getattr(oracle, what)(key)
    assert run(made("fifo"), ops) == oracle.evicted


def test_random_draws_the_same_numbers_from_the_same_seed() -> None:
    ops = [("use", key * 7 % 101) for key in range(400)]
    first = run(made("random"), ops)
    assert run(made("random", seed=1), ops) == first
    assert run(made("random", seed=2), ops) != first


def test_random_evicts_every_way_about_as_often() -> None:
    policy = make_policy(Slot.REPLACEMENT, PolicyConfig("random"))
    number = policy.adopt(dict.fromkeys(range(WAYS)), WAYS)
    counts = [0] * WAYS
    for _ in range(4000):
        counts[policy.victim(number)] += 1
    assert all(850 < count < 1150 for count in counts)


@pytest.mark.parametrize("seed", [0, 1 << 32])
def test_a_seed_that_is_no_content_of_the_register_is_refused(seed: int) -> None:
    with pytest.raises(OptionError, match="seed: must be 1 to 4294967295"):
        made("random", seed=seed)
