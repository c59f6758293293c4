"""Partitions of an L2 cache that keep copies of what their SMs read in the other one."""

from __future__ import annotations

import random

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.files.units import Bytes, cycles
from gpusim.hardware.cache import DramMisses, PartitionHomes
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE, CROSSBAR, DRAM, ISSUE, L1, L2, LINE_FLITS

SMS = 4
HIT = ISSUE + L1 + CROSSBAR + L2 + CROSSBAR + LINE_FLITS - 1
HOME, FAR = BASE, BASE + 128
"""Lines at home in the partition of SMs 0 and 1, and in that of SMs 2 and 3."""


def copying(far: int = 30, banks: int = 2, **l2: object) -> GpuConfig:
    config = change(
        SMALL,
        sm={"count": SMS},
        l2={
            "banks": banks,
            "partitions": 2,
            "far": cycles(far),
            "copies": "reads",
            "sector": Bytes(32),
            "size": Bytes(banks << 16),
            **l2,
        },
    )
    return attrs.evolve(config, tpcs_per_gpc=2)


def in_turn(config: GpuConfig, *steps: tuple[str, int, int]) -> tuple[Run, list[int]]:
    """What each (operation, SM, address) takes, one long after the other; pages are known."""
    scripts: list[list[tuple[object, ...]]] = [
        [("load", BASE + (8 + sm << 8)), ("wait",)] for sm in range(SMS)
    ]
    for number, (operation, sm, address) in enumerate(steps):
        before = 2000 * (number + 1) - sum(one[1] for one in scripts[sm] if one[0] == "compute")
        scripts[sm] += [("compute", before), (operation, address), ("wait",)]
    application = ScriptedApplication([ScriptedLaunch([[script] for script in scripts])])
    run = Run.of(config, [Tenant("scripted", application, range(SMS))])
    return run, [end - start for start, end in sorted(run.loads)][SMS:]


def held(run: Run, address: int) -> list[bool]:
    return [bank.holds(address >> 7) for bank in run.machine.systems[0].banks]


def homes(run: Run) -> list[PartitionHomes]:
    """By bank."""
    found = []
    for bank in run.machine.systems[0].banks:
        assert isinstance(bank.misses, DramMisses)
        assert isinstance(bank.misses.homes, PartitionHomes)
        found.append(bank.misses.homes)
    return found


def asked(run: Run) -> list[int]:
    """By bank, what other partitions have asked."""
    return [one.looked[0].asked for one in homes(run)]


def copied(run: Run) -> list[int]:
    """By bank, what came from other partitions."""
    return [one.copies[0].copied for one in homes(run)]


@pytest.mark.parametrize("far", [0, 30, 151])
def test_a_far_line_is_near_once_it_was_read(far: int) -> None:
    steps = [("load", 0, FAR), ("load", 1, FAR), ("load", 2, FAR), ("load", 0, HOME)]
    _, took = in_turn(copying(far), *steps)
    assert took == [HIT + L2 + far + DRAM, HIT, HIT, HIT + DRAM]


def test_what_is_at_home_elsewhere_is_found_there() -> None:
    run, took = in_turn(copying(40), ("load", 3, FAR), ("load", 0, FAR), ("load", 2, HOME))
    assert took == [HIT + DRAM, HIT + L2 + 40, HIT + L2 + 40 + DRAM]
    line = run.requests[-1].address & ~127  # of HOME, which is in both now
    assert held(run, line) == [True, True]
    first = 2  # loads of SMs 2 and 3, before all of these, of lines at home with SM 0
    assert asked(run) == [1 + first, 1]
    assert [one.looked[0].asked_hits for one in homes(run)] == [0, 1]
    assert copied(run) == [1, 1 + first]


@pytest.mark.parametrize("operation", ["store", "atomic"])
def test_a_store_goes_home_and_copies_are_gone(operation: str) -> None:
    steps = [("load", 0, FAR), (operation, 2, FAR), ("load", 1, FAR)]
    run, took = in_turn(copying(40), *steps)
    assert took[-1] == HIT + L2 + 40, "the copy is not there"
    assert sum(one.copies[0].copies_dropped for one in homes(run)) == 1


def test_a_reader_has_half_of_the_cache() -> None:
    """All lines of 48 KiB fit into one partition of 64 KiB, those of 96 KiB do not."""
    for kib, misses in ((48, 0), (96, 96 * 8)):
        lines = [BASE + 128 * number for number in range(kib * 8)]
        once = [part for line in lines for part in (("load", line), ("wait",))]
        config = change(copying(), l1={"size": Bytes(512), "ways": 4})
        application = ScriptedApplication([ScriptedLaunch([[once]])])
        single = Run.of(config, [Tenant("scripted", application, range(1))])
        application = ScriptedApplication([ScriptedLaunch([[once * 2]])])
        twice = Run.of(config, [Tenant("scripted", application, range(1))])
        assert near_misses(twice) - near_misses(single) == misses


def near_misses(run: Run) -> int:
    return sum(bank.counters[0].misses for bank in run.machine.systems[0].banks)


@pytest.mark.parametrize("seed", range(3))
def test_nobody_waits_for_ever_and_everything_adds_up(seed: int) -> None:
    """Few MSHRs, both partitions asking each other: the laws are checked at the end of the run."""
    draw = random.Random(seed)
    config = change(
        copying(banks=4, mshrs=2, mshr_merge=2, size=Bytes(16 << 10)),
        l1={"size": Bytes(512), "ways": 4},
    )
    scripts: list[list[list[tuple[object, ...]]]] = []
    for _ in range(2 * SMS):
        script: list[tuple[object, ...]] = []
        for _ in range(40):
            kind = draw.choice(["load", "load", "load", "store", "atomic"])
            script.append((kind, *(BASE + 32 * draw.randrange(2048) for _ in range(8))))
            script.append(("wait",))
        scripts.append([script])
    application = ScriptedApplication([ScriptedLaunch(scripts)])
    run = Run.of(config, [Tenant("scripted", application, range(SMS))])
    assert min(asked(run)) > 0
    assert sum(copied(run)) == sum(asked(run))
