"""Choices of the L2 cache that combine: by hand, against naive caches, and in storms.

How lines are cut (whole, sectors, byte masks), where they are at home (one place, partitions,
partitions with copies), what names them (physical or virtual addresses), and whose ways they are.
"""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes, cycles
from gpusim.machine import Tenant
from tests.examples import examples
from tests.hardware.fbt.test_latency import ASK, BACK, TABLE, THERE, TLB, TRIP
from tests.hardware.fbt.virtual_machines import VIRTUAL
from tests.machine.bench import Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_byte_masks import NaiveBytes
from tests.machine.test_l2_copies import FAR, HIT, HOME, SMS, asked, copied, copying, homes, in_turn
from tests.machine.test_latency import BASE, CROSSBAR, DRAM, L2, WALK
from tests.machine.test_sectored_l2 import NaiveL2, accesses, launches, sector, sectors

CUTS: dict[str, dict[str, Any]] = {
    "whole lines": {"sector": None},
    "sectors": {"sector": Bytes(32)},
    "byte masks": {"sector": Bytes(32), "byte_masks": True},
    "byte masks of lines": {"sector": Bytes(128), "byte_masks": True},
    "filled": {"sector": Bytes(32), "byte_masks": True, "partial_writes": "fill"},
}
cuts = pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())


# -- copies of lines that are cut in any way -----------------------------------------------------


@cuts
def test_a_far_line_is_near_once_it_was_read(cut: dict[str, Any]) -> None:
    steps = [("load", 0, FAR), ("load", 1, FAR), ("load", 2, FAR), ("load", 0, HOME)]
    _, took = in_turn(copying(30, **cut), *steps)
    assert took == [HIT + L2 + 30 + DRAM, HIT, HIT, HIT + DRAM]


@cuts
def test_a_store_goes_home_and_the_copy_is_gone(cut: dict[str, Any]) -> None:
    steps = [("load", 0, FAR), ("store", 2, FAR), ("load", 1, FAR)]
    run, took = in_turn(copying(40, **cut), *steps)
    assert took[-1] == HIT + L2 + 40
    assert sum(one.copies[0].copies_dropped for one in homes(run)) == 1


def test_a_store_to_a_line_that_is_nowhere_waits_for_it_only_if_lines_are_whole() -> None:
    for cut, fetched in ((CUTS["whole lines"], DRAM), (CUTS["byte masks"], 0)):
        run, took = in_turn(copying(40, **cut), ("store", 0, FAR))
        acknowledged = HIT - 3 + 40 + fetched  # of one flit; half of the way there, half back
        assert took == [acknowledged]
        assert run.count("l2", "writebacks") == 0


@cuts
@pytest.mark.parametrize("seed", range(2))
def test_storms_of_copies_drain_and_add_up(cut: dict[str, Any], seed: int) -> None:
    """Few MSHRs, both partitions asking each other: the laws are checked at the end of the run."""
    draw = random.Random(seed)
    config = change(
        copying(banks=4, mshrs=2, mshr_merge=2, size=Bytes(16 << 10), **cut),
        l1={"size": Bytes(512), "ways": 4},
    )
    scripts = [[_script(draw, 8)] for _ in range(2 * SMS)]
    application = ScriptedApplication([ScriptedLaunch(scripts)])
    run = Run.of(config, [Tenant("scripted", application, range(SMS))])
    assert min(asked(run)) > 0
    assert sum(copied(run)) == sum(asked(run))


def _script(draw: random.Random, lanes: int) -> list[tuple[object, ...]]:
    script: list[tuple[object, ...]] = []
    for _ in range(30):
        kind = draw.choice(["load", "load", "load", "store", "atomic"])
        script.append((kind, *(BASE + 32 * draw.randrange(2048) for _ in range(lanes))))
        script.append(("wait",))
    return script


class NaiveCopies:
    """Two partitions of one set each, the least recently used line first; lines are whole.

    Attributes:
        fetched, written, asked, copied, dropped: lines, summed over both.
    """

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.parts: list[dict[int, bool]] = [{}, {}]
        self.fetched = self.written = self.asked = self.copied = self.dropped = 0

    def load(self, near: int, line: int) -> None:
        if self._touch(near, line):
            return
        home = line % 2
        if home != near:
            self.asked += 1
            if not self._touch(home, line):
                self._bring(home, line)
            self._insert(near, line)
            self.copied += 1
        else:
            self._bring(home, line)

    def change(self, line: int) -> None:
        home = line % 2
        if not self._touch(home, line):
            self._bring(home, line)
        self.parts[home][line] = True
        self.dropped += self.parts[1 - home].pop(line, None) is not None

    def _touch(self, part: int, line: int) -> bool:
        lines = self.parts[part]
        if line in lines:
            lines[line] = lines.pop(line)
        return line in lines

    def _bring(self, home: int, line: int) -> None:
        self.fetched += 1
        self._insert(home, line)

    def _insert(self, part: int, line: int) -> None:
        lines = self.parts[part]
        if len(lines) == self.ways:
            self.written += lines.pop(next(iter(lines)))
        lines[line] = False


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["load", "load", "load", "store", "atomic"]),
        st.integers(0, SMS - 1),
        st.integers(0, 7),
    ),
    min_size=5,
    max_size=25,
)


@settings(max_examples=examples(40), deadline=None)
@given(STEPS, st.sampled_from([1, 2]))
def test_copies_of_whole_lines_against_a_naive_cache(
    steps: list[tuple[str, int, int]], ways: int
) -> None:
    """A launch for each step, so that L1 caches are empty; SM *n* runs the block of that number."""
    config = copying(size=Bytes(2 * 128 * ways), ways=ways, sector=None)
    kernels = []
    for kind, sm, line in steps:
        scripts: list[list[list[tuple[object, ...]]]] = [[[("compute", 1)]] for _ in range(SMS)]
        scripts[sm] = [[(kind, BASE + 128 * line), ("wait",)]]
        kernels.append(ScriptedLaunch(scripts))
    run = Run.of(config, [Tenant("scripted", ScriptedApplication(kernels), range(SMS))])
    naive = NaiveCopies(ways)
    for kind, sm, line in steps:
        if kind == "load":
            naive.load(sm // 2, line)
        else:
            naive.change(line)
    found = [sum(asked(run)), sum(copied(run))]
    assert found == [naive.asked, naive.copied]
    assert sum(one.copies[0].copies_dropped for one in homes(run)) == naive.dropped
    assert run.count("dram", "data_reads") == naive.fetched
    assert run.count("l2", "writebacks") == naive.written


# -- virtual names -------------------------------------------------------------------------------


def virtual(**l2: Any) -> GpuConfig:
    return change(VIRTUAL, l2=l2)


def test_a_virtual_store_is_translated_but_fetches_nothing() -> None:
    stores = ("store", *sector(0)), ("store", *sector(1)), ("load", BASE)
    acknowledged = CROSSBAR  # of one flit
    walk = TRIP + TLB + WALK + TABLE
    whole = launches(virtual(), *stores)
    assert whole.latencies == [
        THERE + walk + DRAM + acknowledged,
        THERE + acknowledged,
        THERE + BACK,
    ]
    cut = launches(virtual(**CUTS["sectors"]), *stores)
    assert cut.latencies == [
        THERE + walk + L2 + acknowledged,
        THERE + acknowledged,
        THERE + ASK + DRAM + BACK,  # the two sectors that were not written
    ]
    assert sectors(cut) == (2, 0)
    assert cut.count("l2", "claimed_in_place") == 1


@settings(max_examples=examples(40), deadline=None)
@given(accesses(), st.sampled_from([32, 64]), st.sampled_from([1, 2]))
def test_virtual_sectors_against_the_naive_cache(
    steps: list[tuple[str, list[int]]], size: int, ways: int
) -> None:
    """Loads ask for whole lines, as the virtual L1 caches of this machine do."""
    config = virtual(sector=Bytes(size), ways=ways, size=Bytes(128 * ways))
    run = launches(config, *[(kind, *where) for kind, where in steps])
    naive = NaiveL2(ways, size)
    for kind, where in steps:
        naive.access(kind, _asked(kind, where))
    assert sectors(run) == (naive.fetched, naive.written)
    for name in ("writebacks", "claimed", "hits"):
        assert run.count("l2", name) == getattr(naive, name), name


@settings(max_examples=examples(40), deadline=None)
@given(accesses(), st.sampled_from([32, 128]), st.sampled_from([1, 2]))
def test_virtual_byte_masks_against_the_naive_cache(
    steps: list[tuple[str, list[int]]], size: int, ways: int
) -> None:
    config = virtual(sector=Bytes(size), ways=ways, size=Bytes(128 * ways), byte_masks=True)
    run = launches(config, *[(kind, *where) for kind, where in steps])
    naive = NaiveBytes(ways, size)
    for kind, where in steps:
        naive.access(kind, _asked(kind, where))
    assert sectors(run) == (naive.fetched, naive.written)


def _asked(kind: str, where: list[int]) -> list[int]:
    """What comes to the L2 cache: all of each line that is loaded."""
    if kind != "load":
        return where
    lines = dict.fromkeys(address // 128 for address in where)
    return [128 * line + 4 * word for line in lines for word in range(32)]


def test_banks_with_virtual_names_in_partitions() -> None:
    """SM 0 is near bank 0, SM 2 near bank 1; the table is as far from both."""
    keys = {"banks": 2, "partitions": 2, "far": cycles(30), "size": Bytes(2 << 16)}
    config = attrs.evolve(change(VIRTUAL, sm={"count": SMS}, l2=keys), tpcs_per_gpc=2)
    _, took = in_turn(config, ("load", 0, HOME), ("load", 0, FAR), ("load", 2, HOME))
    assert took == [THERE + ASK + DRAM + BACK, THERE + ASK + DRAM + BACK + 30, THERE + BACK + 30]


def test_applications_have_ways_of_a_virtual_cache() -> None:
    """One set of four ways: what one application streams through takes no way of the other."""
    config = change(
        VIRTUAL,
        sm={"count": 2},
        l1={"size": Bytes(128), "ways": 1},
        l2={"size": Bytes(512), "ways": 4},
    )
    stream = [step for line in range(200) for step in (("load", BASE + 128 * line), ("wait",))]
    turn = [("load", BASE), ("wait",), ("compute", 1000), ("load", BASE + 4096), ("wait",)]

    def hits(partition: str) -> int:
        tenants = [
            Tenant(name, ScriptedApplication([ScriptedLaunch([[script]])]), range(sm, sm + 1))
            for sm, (name, script) in enumerate((("stream", stream), ("turns", turn * 20)))
        ]
        run = Run.of(change(config, l2={"partition": partition}), tenants)
        return sum(bank.counters[1].hits for bank in run.machine.systems[0].banks)

    assert hits("ways") == 2 * 20 - 2
    assert hits("none") < 20
