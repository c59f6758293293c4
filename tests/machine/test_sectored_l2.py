"""An L2 cache with sectors: by hand, and against a naive one that has all the time in the world."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.dram_standards.hbm2 import HBM2
from gpusim.config.translation import WalkConfig
from gpusim.files.units import Bytes, Hertz
from tests.examples import examples
from tests.hardware.sm.observed import launch, tenant
from tests.machine.bench import SMALL, Run, change
from tests.machine.instances import in_slices
from tests.machine.test_latency import BASE, CROSSBAR, DRAM, ISSUE, L1, L2

SECTORED = change(SMALL, l1={"sector": Bytes(32)}, l2={"sector": Bytes(32)})
FETCH = ISSUE + L1 + CROSSBAR + L2 + DRAM + CROSSBAR
"""A load of one sector that misses both caches; the answer is one flit."""


def sector(number: int) -> tuple[int, ...]:
    """All words of a sector."""
    return tuple(BASE + 32 * number + 4 * word for word in range(8))


def launches(config: Any, *steps: tuple[Any, ...]) -> Run:
    """One step a launch: each is done before the next begins, and L1 caches are empty."""
    return Run.of(config, [tenant(config, *[launch(config, [[s, ("wait",)]]) for s in steps])])


def sectors(run: Run) -> tuple[int, int]:
    return run.count("l2", "sectors_fetched"), run.count("l2", "sectors_written_back")


def test_each_sector_is_fetched_when_it_is_missed() -> None:
    load = [("load", BASE + 32 * number) for number in (0, 1, 0, 2)]
    run = Run(SECTORED, *[[step for one in load for step in (one, ("wait",))]])
    assert run.latencies[1:] == [FETCH, ISSUE + L1, FETCH] == [131, 5, 131]
    assert sectors(run) == (3, 0)
    assert run.count("l2", "fills") == run.count("dram", "data_reads") == 3
    assert run.count("dram", "data_read_bytes") == 3 * 64  # GDDR5's bursts are 64 bytes


def test_what_is_on_its_way_is_not_fetched_again() -> None:
    """Two warps: sectors 0 and 1, then 1 and 2 a cycle later: the second asks for 2 only."""
    warm = [("load", BASE + 1024), ("wait",), ("barrier",)]
    one = [*warm, ("load", BASE, BASE + 32), ("wait",)]
    two = [*warm, ("load", BASE + 32, BASE + 64), ("wait",)]
    config = change(SECTORED, l1={"mshrs": 32}, l2={"mshrs": 1})
    run = Run(config, one, two)
    assert sectors(run) == (4, 0)
    assert (run.count("l2", "misses"), run.count("l2", "merged")) == (3, 0)
    assert run.latencies[-2:] == [FETCH + 1, FETCH + 2]  # two flits each on one link
    same = Run(config, one, one)
    assert sectors(same) == (3, 0)


def test_a_fetch_of_what_others_fetch_waits_for_them() -> None:
    """Lines of the L1 cache of one sector each: the L2 cache sees both loads of sector 0."""
    config = change(SECTORED, sm={"count": 2})
    script = [("load", BASE), ("wait",)]
    run = Run(config, script, blocks=2)
    assert sectors(run) == (1, 0)
    assert (run.count("l2", "misses"), run.count("l2", "merged")) == (2, 1)


def test_stores_fetch_nothing_and_only_partial_ones_are_fetched_later() -> None:
    run = launches(SECTORED, ("store", *sector(0)), ("load", BASE), ("store", *sector(0)))
    assert sectors(run) == (0, 0)
    assert (run.count("l2", "claimed"), run.count("l2", "hits")) == (1, 2)
    run = launches(SECTORED, ("store", BASE), ("store", BASE + 4), ("load", BASE), ("load", BASE))
    assert sectors(run) == (1, 0)
    assert (run.count("l2", "claimed"), run.count("l2", "hits")) == (1, 2)
    assert run.latencies[0] == 511 + FETCH - DRAM  # acknowledged without DRAM


def test_atomics_fetch_their_sector() -> None:
    run = launches(SECTORED, ("atomic", BASE), ("reduce", BASE), ("reduce", BASE + 32))
    assert sectors(run) == (2, 0)
    assert run.count("l2", "claimed") == 0


@pytest.mark.parametrize("size", [32, 64])
def test_only_dirty_sectors_are_written_back(size: int) -> None:
    """One set of 8 ways: the ninth line evicts the first."""
    config = change(SECTORED, l2={"size": Bytes(8 * 128), "sector": Bytes(size)})
    steps = [("store", *sector(1)), ("load", BASE), *[("load", BASE + 128 * n) for n in range(9)]]
    run = launches(config, *steps)
    of_store = 1 if size == 32 else 2
    assert run.count("l2", "writebacks") == 1
    assert sectors(run)[1] == of_store
    assert run.count("dram", "write_bytes") == 64


def test_dram_moves_the_bursts_of_sectors() -> None:
    """HBM2: bursts of 32 bytes, so bytes are those of the sectors; laws check each run."""
    mapping = "row bank bank-group pseudo-channel column channel column:2"
    dram = attrs.evolve(HBM2, clock=Hertz(1_000_000_000), channels=2, mapping=mapping)
    config = attrs.evolve(SECTORED, dram=dram, walk=WalkConfig(8, "memory"))
    run = launches(config, ("load", BASE), ("load", BASE + 64, BASE + 96), ("store", *sector(7)))
    assert run.count("dram", "data_read_bytes") == 3 * 32
    assert run.count("dram", "walk_read_bytes") == 4 * 32
    whole = launches(change(config, l2={"sector": None}), ("load", BASE))
    assert whole.count("dram", "walk_read_bytes") == 4 * 128
    quick, slow = (one.machine.systems[0].channels for one in (run, whole))
    clocks = [
        sum(
            row.value
            for c in one
            for row in c.counter_rows(["scripted"])
            if row.name == "data_clocks"
        )
        for one in (quick, slow)
    ]
    assert clocks[0] == 2 * 7  # bursts of two clocks
    assert clocks[1] == 2 * 4 * 5


def test_without_sectors_nothing_is_counted() -> None:
    run = launches(change(SMALL, l2={"sector": Bytes(128)}), ("load", BASE))
    names = {row.name for row in run.machine.counter_rows() if row.component == "l2"}
    assert "sectors_fetched" not in names


class NaiveL2:
    """One set of lines, the least recently used first; each sector is readable, dirty, or both."""

    def __init__(self, ways: int, sector: int) -> None:
        self.ways, self.sector = ways, sector
        self.lines: dict[int, dict[int, set[str]]] = {}
        self.fetched = self.written = self.writebacks = self.claimed = self.hits = 0

    def access(self, kind: str, addresses: list[int]) -> None:
        per_line = 128 // self.sector
        touched: dict[int, dict[int, set[int]]] = {}
        for address in addresses:
            place = (address // self.sector) % per_line
            words = touched.setdefault(address // 128, {}).setdefault(place, set())
            words.add(address % self.sector // 4)
        for line, parts in touched.items():
            held = self.lines.get(line, {})
            if kind == "store":
                lacking = [part for part in parts if not held.get(part)]
                self.claimed += bool(lacking)
            else:
                lacking = [part for part in parts if "readable" not in held.get(part, set())]
                self.fetched += len(lacking) * self.sector // 32
            self.hits += not lacking
            held = self.touch(line)
            for part, words in parts.items():
                marks = held.setdefault(part, set())
                if kind != "store" or len(words) == self.sector // 4:
                    marks.add("readable")
                if kind != "load":
                    marks.add("dirty")

    def touch(self, line: int) -> dict[int, set[str]]:
        held = self.lines.pop(line, None)
        if held is None:
            held = {}
            if len(self.lines) == self.ways:
                victim = self.lines.pop(next(iter(self.lines)))
                dirty = sum("dirty" in marks for marks in victim.values())
                self.writebacks += dirty > 0
                self.written += dirty * self.sector // 32
        self.lines[line] = held
        return held


@st.composite
def accesses(draw: Any) -> list[tuple[str, list[int]]]:
    """Words, whole sectors and runs of some in one of four lines."""
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    steps = []
    for _ in range(chance.randint(5, 40)):
        first = BASE + 4 * chance.randrange(4 * 32)
        words = chance.choice([1, 2, 8, 8, 16, 32])
        if chance.random() < 0.7:
            first = first // 32 * 32
        run = [first + 4 * word for word in range(min(words, 32 - first // 4 % 32))]
        steps.append((chance.choice(["load", "load", "store", "store", "atomic", "reduce"]), run))
    return steps


@settings(max_examples=examples(60), deadline=None)
@given(accesses(), st.sampled_from([32, 64]), st.sampled_from([1, 2]))
def test_against_the_naive_cache(steps: list[tuple[str, list[int]]], size: int, ways: int) -> None:
    config = change(SECTORED, l2={"sector": Bytes(size), "ways": ways, "size": Bytes(128 * ways)})
    run = launches(config, *[(kind, *where) for kind, where in steps])
    naive = NaiveL2(ways, size)
    for kind, where in steps:
        naive.access(kind, where)
    assert sectors(run) == (naive.fetched, naive.written)
    for name in ("writebacks", "claimed", "hits"):
        assert run.count("l2", name) == getattr(naive, name), name


def test_instances_have_sectors_too() -> None:
    config = in_slices(SECTORED, 2)
    run = Run.of(config, [tenant(config, launch(config, [[("load", BASE), ("wait",)]]))])
    assert run.count("l2", "sectors_fetched") == 1
