"""Dead-entry prediction against a naive one, and in scenes made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import OptionError
from gpusim.core.replacement import DeadEntry, Lru, Replacement
from tests.examples import examples

WAYS = 4


class Sets:
    """Sets of the smallest array that keeps to the contract."""

    def __init__(self, policy: Replacement, sets: int) -> None:
        self.policy = policy
        self.entries: list[dict[int, Any]] = [{} for _ in range(sets)]
        for one in self.entries:
            policy.adopt(one, WAYS)

    def use(self, key: int) -> int | None:
        """Returns what goes for it."""
        index = key % len(self.entries)
        entries = self.entries[index]
        if key in entries:
            self.policy.touch(index, key)
            return None
        gone = None
        if len(entries) == WAYS:
            gone = self.policy.victim(index)
            self.remove(gone)
        entries[key] = None
        self.policy.insert(index, key)
        return gone

    def remove(self, key: int) -> None:
        index = key % len(self.entries)
        if self.entries[index].pop(key, 0) is None:
            self.policy.forget(index, key)


class Naive:
    """Lists of ``[key, uses, dead]``, the one used longest ago first; counters by place."""

    def __init__(self, sets: int, region: int, table: int, threshold: int, sample: int) -> None:
        self.sets: list[list[list[int]]] = [[] for _ in range(sets)]
        self.samplers: dict[int, list[list[int]]] = {n: [] for n in range(0, sets, sample)}
        self.counters: dict[tuple[int, int], int] = {}
        self.region, self.table, self.threshold = region, table, threshold

    def places(self, key: int, uses: int) -> list[tuple[int, int]]:
        region = key // self.region
        folded = (region ^ region // 2**20 ^ region // 2**40) % 2**20
        factors = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
        spread = [(folded * 8 + uses) * factor % 2**32 for factor in factors]
        return [(number, one * self.table // 2**32) for number, one in enumerate(spread)]

    def train(self, key: int, uses: int, step: int) -> None:
        for place in self.places(key, uses):
            self.counters[place] = min(max(self.counters.get(place, 0) + step, 0), 3)

    def sample(self, sampler: list[list[int]], key: int) -> None:
        known = [one for one in sampler if one[0] == key]
        uses = known[0][1] if known else 0
        if known:
            self.train(key, uses, -1)
            sampler.remove(known[0])
        elif len(sampler) == WAYS:
            self.train(*sampler.pop(0), 1)
        sampler.append([key, min(uses + 1, 7)])

    def use(self, key: int) -> int | None:
        index = key % len(self.sets)
        if index in self.samplers:
            self.sample(self.samplers[index], key)
        entries, gone = self.sets[index], None
        entry = next((one for one in entries if one[0] == key), None)
        if entry is not None:
            entries.remove(entry)
        elif len(entries) == WAYS:
            victim = next((one for one in entries if one[2]), entries[0])
            entries.remove(victim)
            gone = victim[0]
        uses = min(entry[1] + 1, 7) if entry is not None else 1
        total = sum(self.counters.get(place, 0) for place in self.places(key, uses))
        entries.append([key, uses, int(total >= self.threshold)])
        return gone

    def remove(self, key: int) -> None:
        index = key % len(self.sets)
        self.sets[index] = [one for one in self.sets[index] if one[0] != key]


KEYS = st.sampled_from([*range(24), *((1 << 52) + key for key in range(6))])
STEPS = st.lists(
    st.tuples(st.sampled_from(["use", "use", "use", "remove"]), KEYS), min_size=30, max_size=200
)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from([1, 2, 4]), st.sampled_from([1, 4]), st.integers(1, 4), STEPS)
def test_against_a_naive_one(
    sets: int, region: int, threshold: int, steps: list[tuple[str, int]]
) -> None:
    policy = DeadEntry(region=region, table=8, threshold=threshold, sample=2)
    real, naive = Sets(policy, sets), Naive(sets, region, 8, threshold, 2)
    for what, key in steps:
        assert getattr(real, what)(key) == getattr(naive, what)(key)
        kept = [[one[0] for one in entries] for entries in naive.sets]
        assert [list(entries) for entries in real.entries] == kept


def hits(policy: Replacement, keys: list[int]) -> int:
    sets, found = Sets(policy, 1), 0
    for key in keys:
        found += key in sets.entries[0]
        sets.use(key)
    return found


def test_what_is_used_once_makes_room_for_what_is_used_again() -> None:
    """Three keys are used in turn, some rounds, and then five of a long array that is read once."""
    keys = []
    for n in range(200):
        keys += [*range(3)] * (2 + n % 5)
        keys += range(4096 + 5 * n, 4096 + 5 * (n + 1))
    reused = 3 * sum(2 + n % 5 for n in range(200)) - 3
    lru, dead = hits(Lru(), keys), hits(DeadEntry(region=1024), keys)
    assert lru == reused - 3 * 199  # what was read once has taken their places
    assert dead > lru + 300


def test_without_a_pattern_it_is_lru() -> None:
    keys = [n * n % 7 for n in range(200)]  # four keys, which fit
    assert hits(DeadEntry(), keys) == hits(Lru(), keys) == 196


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"region": 12}, "region: must be a power of two"),
        ({"table": 100}, "table: must be a power of two"),
        ({"threshold": 10}, "threshold: must be at most 9"),
        ({"threshold": 0}, "threshold: must be 1 or more"),
        ({"sample": 0}, "sample: must be 1 or more"),
    ],
)
def test_options_that_cannot_be(options: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        DeadEntry(**options)


def test_what_it_keeps() -> None:
    predictor, samplers, uses = DeadEntry(sample=8).storage(sets=32, ways=16)
    assert predictor.bits == 3 * 4096 * 2  # 3 KiB, as in the paper
    assert samplers.bits == 4 * 16 * (15 + 3)
    assert uses.bits == 512 * 4
