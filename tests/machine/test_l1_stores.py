"""What stores do to an L1 cache: by hand, and against a naive one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.files.units import Bytes
from tests.examples import examples
from tests.machine.bench import SMALL, Run, change
from tests.machine.l1_choices import named
from tests.machine.test_latency import BASE, ISSUE, L1
from tests.machine.test_sectored_l2 import accesses, launches, sector

KEEPS = change(SMALL, l1={"at_launch": "keep", "sector": Bytes(32)})
"""One step a launch, so that stores are done before what follows."""

HIT = ISSUE + L1


def hits(writes: str, *steps: tuple[Any, ...], size: int = 32) -> int:
    run = launches(change(KEEPS, l1={"writes": writes, "sector": Bytes(size)}), *steps)
    assert run.count("l1", "stores") == sum(step[0] != "load" for step in steps)
    assert sum(latency == HIT for latency in run.latencies) == run.count("l1", "hits")
    return run.count("l1", "hits")


LINE = tuple(BASE + 4 * word for word in range(32))


@pytest.mark.parametrize(
    ("writes", "of_sector", "of_word", "of_line", "of_resident"),
    [("update", 0, 0, 0, 1), ("allocate", 1, 0, 1, 1), ("evict", 0, 0, 0, 0)],
)
def test_a_load_after_a_store(
    writes: str, of_sector: int, of_word: int, of_line: int, of_resident: int
) -> None:
    load = ("load", BASE)
    assert hits(writes, ("store", *sector(0)), load) == of_sector
    assert hits(writes, ("store", BASE), load) == of_word
    assert hits(writes, ("store", *LINE), ("load", *LINE), size=128) == of_line
    assert hits(writes, ("store", *sector(0)), load, size=128) == 0
    assert hits(writes, load, ("store", BASE + 4), load) == of_resident
    assert hits(writes, load, ("reduce", BASE + 4), load) == 0


@pytest.mark.parametrize("translation", ["before", "after"])
def test_virtual_and_physical_lines_are_named_alike_by_loads_and_stores(translation: str) -> None:
    config = change(KEEPS, l1={"writes": "allocate", "translation": translation})
    run = launches(config, ("store", *sector(3)), ("load", BASE + 96))
    assert (run.count("l1", "hits"), run.count("l1", "allocated")) == (1, 1)


def test_only_a_cache_that_allocates_counts_that() -> None:
    for writes, counted in (("update", False), ("evict", False), ("allocate", True)):
        run = Run(change(SMALL, l1={"writes": writes}), [("load", BASE), ("wait",)])
        names = {row.name for row in run.machine.counter_rows() if row.component == "l1"}
        assert ("allocated" in names) == counted


class NaiveL1:
    """One set of lines of sectors, the least recently used first."""

    def __init__(self, ways: int, size: int, writes: str) -> None:
        self.ways, self.size, self.writes = ways, size, writes
        self.lines: dict[int, set[int]] = {}
        self.hits = self.allocated = 0

    def access(self, kind: str, addresses: list[int]) -> None:
        line = addresses[0] // 128
        words: dict[int, set[int]] = {}
        for address in addresses:
            words.setdefault(address % 128 // self.size, set()).add(address)
        held = self.lines.get(line)
        if kind == "load":
            if held is not None and held >= set(words):
                self.hits += 1
            self.keep(line, set(words))
        elif kind != "store" or self.writes == "evict":
            self.lines.pop(line, None)
        else:
            whole = {part for part, of in words.items() if len(of) == self.size // 4}
            if self.writes == "update":
                whole = set()
            self.allocated += not whole <= (held or set())
            if held is not None or whole:
                self.keep(line, whole)

    def keep(self, line: int, parts: set[int]) -> None:
        held = self.lines.pop(line, set())
        if len(self.lines) == self.ways:
            del self.lines[next(iter(self.lines))]
        self.lines[line] = held | parts


@settings(max_examples=examples(60), deadline=None)
@given(
    accesses(),
    st.sampled_from([32, 64, 128]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["update", "allocate", "evict"]),
    st.sampled_from(["on-fill", "on-miss"]),
    st.sampled_from(["parallel", "after", "after-l2", "remapped"]),
    st.booleans(),
)
def test_against_the_naive_cache(
    steps: list[tuple[str, list[int]]],
    size: int,
    ways: int,
    writes: str,
    allocate: str,
    naming: str,
    both: bool,
) -> None:
    """One access after the other, all names of lines alike: only what is held tells them apart."""
    config = change(
        named(naming, at_launch="keep"),
        l1={
            "writes": writes,
            "allocate": allocate,
            "sector": Bytes(size),
            "ways": ways,
            "size": Bytes(128 * ways),
        },
    )
    if config.fbt is None and both:
        config = change(config, l2={"sector": Bytes(32)})
    run = launches(config, *[(kind, *where) for kind, where in steps])
    naive = NaiveL1(ways, size, writes)
    for kind, where in steps:
        naive.access(kind, where)
    assert run.count("l1", "hits") == naive.hits
    if writes == "allocate":
        assert run.count("l1", "allocated") == naive.allocated


def test_bytes_of_stores_do_not_depend_on_what_is_told_of_them() -> None:
    """The crossbar carries sectors, not the mask of those that are covered."""
    chance = random.Random(3)
    steps = [("store", *sector(chance.randrange(64))) for _ in range(20)]
    carried = {
        launches(config, *steps).count("crossbar/requests", "bytes")
        for config in (KEEPS, change(KEEPS, l1={"writes": "allocate"}))
    }
    assert carried == {20 * 32}
