"""Page-table reads that go past the L2 cache: what they cost, worked out by hand.

The machine is `bench.SMALL` with walks of four reads through the L2 cache (10 cycles, one bank of
one port) and DRAM (100 cycles).
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.config.translation import WalkCacheConfig, WalkConfig
from gpusim.core.policy import Option, PolicyConfig
from gpusim.files.units import cycles
from tests.machine.bench import SMALL, Run, change
from tests.machine.own_bypass import FromLevel
from tests.machine.test_latency import (
    BASE,
    CROSSBAR,
    DRAM,
    ISSUE,
    L1,
    L1_TLB,
    L2,
    L2_TLB,
    LINE_FLITS,
    OTHER_LINE,
    SAME_TABLE,
)

WALKS = attrs.evolve(SMALL, walk=WalkConfig(8, "memory"))


def past_from(level: int, config: GpuConfig = WALKS) -> GpuConfig:
    policy = PolicyConfig("tests.machine.own_bypass:FromLevel", {"level": level})
    return change(config, l2={"bypass": policy})


def aware(**options: Option) -> GpuConfig:
    policy = PolicyConfig("translation-aware", {"min_accesses": 0} | options)
    return change(WALKS, l2={"bypass": policy})


def walk_cycles(config: GpuConfig, *pages: int) -> list[int]:
    """Cycles of each walk, one after the other."""
    script = [step for page in pages for step in (("load", BASE + 4096 * page), ("wait",))]
    around = ISSUE + L1_TLB + L2_TLB + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
    return [latency - around for latency in Run(config, script).latencies]


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5])
def test_a_level_past_the_cache_costs_dram_and_no_more(first: int) -> None:
    past = 5 - first
    cold = (4 - past) * (L2 + DRAM) + past * DRAM
    warm = (4 - past) * L2 + past * DRAM  # what went past was not brought in
    assert walk_cycles(past_from(first), 0, SAME_TABLE) == [cold, warm]


def test_a_read_that_an_sm_sends_past_the_cache_crosses_the_network() -> None:
    """It is spared the lookup, and the way from the network into a bank (`l2.entry`)."""
    sent = attrs.evolve(WALKS, walk=attrs.evolve(WALKS.walk, sent_by="sms"))
    for entry in (None, cycles(85)):
        config = change(past_from(4, sent), l2={"entry": entry})
        more = 0 if entry is None else 85
        cold, warm = walk_cycles(config, 0, SAME_TABLE)
        assert cold == 3 * (CROSSBAR + more + L2 + DRAM) + CROSSBAR + DRAM + more
        assert warm == 3 * (CROSSBAR + more + L2) + CROSSBAR + DRAM + more


def test_a_level_past_the_cache_still_goes_into_the_walk_cache() -> None:
    cache = WalkCacheConfig("levels", entries=64, latency=cycles(2))
    config = past_from(4, attrs.evolve(SMALL, walk=WalkConfig(8, "memory", cache=cache)))
    upper = 3 * (L2 + DRAM)
    assert walk_cycles(config, 0, SAME_TABLE) == [2 + upper + DRAM, 2 + DRAM]


def test_reads_past_the_cache_are_counted_by_level() -> None:
    run = Run(past_from(3), [("load", BASE), ("wait",), ("load", BASE + 4096), ("wait",)])
    found = {
        (level, what): run.count(f"page_table/level{level}", f"l2_{what}")
        for level in (1, 2, 3, 4)
        for what in ("lookups", "hits", "bypassed")
    }
    for level in (1, 2):
        assert [found[level, what] for what in ("lookups", "hits", "bypassed")] == [2, 1, 0]
    for level in (3, 4):
        assert [found[level, what] for what in ("lookups", "hits", "bypassed")] == [0, 0, 2]
    assert run.count("l2", "translation_lookups") == 4
    assert run.count("l2", "translation_hits") == 2
    assert run.count("walk", "level_accesses") == 8
    assert run.count("dram", "walk_reads") == 2 + 4


def test_the_policy_hears_of_every_lookup_of_a_bank() -> None:
    Run(past_from(3), [("load", BASE), ("wait",), ("load", BASE + 4096), ("store", BASE + 4096)])
    # Two walks, of which two levels look; a load and a store to another line than the first load's.
    kinds = [(depth, app, hit) for depth, app, hit, _ in FromLevel.heard]
    assert kinds == [
        (1, 0, False),
        (2, 0, False),
        (0, 0, False),
        (1, 0, True),
        (2, 0, True),
        (0, 0, False),
        (0, 0, False),
    ]
    assert [cycle for *_, cycle in FromLevel.heard] == sorted(c for *_, c in FromLevel.heard)


def test_no_port_is_used() -> None:
    """A walk past a cache whose only port is busy with atomics takes four DRAM reads."""
    warm = [("load", BASE + 4096), ("wait",), ("atomic", BASE), ("wait",)]
    atomics = [("atomic", BASE)] * 200  # as many as go, through all of the walk of page 9
    run = Run(past_from(1), [*warm, ("load", BASE + 4096 * 9), *atomics, ("wait",)])
    assert run.count("walk", "walk_cycles") == 3 * 4 * DRAM
    assert [bank.requests.taken for bank in run.machine.systems[0].banks] == [0]
    without = Run(past_from(1), [*warm, *atomics, ("wait",)])
    assert run.count("l2", "lookups") == without.count("l2", "lookups") + 1  # the load's own


def test_the_rule_sends_a_level_past_that_never_hits() -> None:
    # Levels 1 to 3 miss once and data hit 4 of 5 times: after 8 walks only level 4 is worse.
    script = _alternating(24)
    run, plain = Run(aware(min_accesses=8), script), Run(WALKS, script)
    found = [run.count(f"page_table/level{level}", "l2_bypassed") for level in (1, 2, 3, 4)]
    assert found == [0, 0, 0, 16]
    assert plain.cycles - run.cycles == 16 * L2


def test_a_sample_of_all_is_the_machine_without() -> None:
    script = _alternating(24)
    run, plain = Run(aware(sample=1), script), Run(WALKS, script)
    assert run.loads == plain.loads
    assert [*run.machine.counter_rows()] == [*plain.machine.counter_rows()]


def _alternating(pages: int) -> list[tuple[object, ...]]:
    """Loads of pages whose leaf entries lie in different lines, and atomics on one line."""
    steps: list[tuple[object, ...]] = []
    for page in range(pages):
        for _ in range(4):
            steps += [("atomic", BASE), ("wait",)]
        steps += [("load", BASE + 4096 * 2 * OTHER_LINE * page), ("wait",)]
    return steps
