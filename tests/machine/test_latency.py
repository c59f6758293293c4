"""Latencies of single loads and of small crowds, computed by hand.

The machine (`bench.SMALL`): L1 TLB 1 cycle, L1 cache 4 (looked up in parallel), L2 TLB 10, fixed
walk 500, crossbar 8 either way and 32 bytes a cycle, L2 cache 10, DRAM 100.  A load that is issued
in cycle 0 is seen by the load/store unit in cycle 1.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.translation import WalkCacheConfig, WalkConfig
from gpusim.files.units import Bytes, cycles
from tests.machine.bench import SMALL, Run, change

BASE = 1 << 32
ISSUE = 1  # from issue to the load/store unit
L1_TLB, L1 = 1, 4
L2_TLB = 10
WALK = 500
CROSSBAR = 8
LINE_FLITS = 4  # 128 bytes, 32 a cycle; the last flit counts
L2 = 10
DRAM = 100

TO_L2_AND_BACK = CROSSBAR + L2 + CROSSBAR + LINE_FLITS - 1
"""From the L1 cache to an L2 bank that hits, and the line back."""


def test_a_load_that_hits_everywhere() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert run.latencies[1] == ISSUE + L1 == 5


def test_a_load_that_misses_everywhere() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",)])
    translate = L1_TLB + L2_TLB + WALK  # 511: fills of both TLBs happen in the cycle of the answer
    fetch = L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1  # 133
    assert run.latencies == [ISSUE + translate + fetch]
    assert run.latencies == [645]


def test_a_load_that_misses_the_l1_cache_only() -> None:
    # Lines 0, 32, 64, 96, 128 of one page's worth of sets: 32 sets, so stride 4 KiB maps to set 0;
    # 4 ways hold four of them.  All pages stay in the L1 TLB, all lines in the L2 cache.
    pages = [BASE + 4096 * page for page in range(5)]
    warm = [step for page in pages for step in (("load", page), ("wait",))]
    run = Run(SMALL, [*warm, ("load", pages[0]), ("wait",)])
    assert run.latencies[-1] == ISSUE + L1 + TO_L2_AND_BACK == 34


def test_a_load_that_misses_the_l1_tlb_only() -> None:
    # 17 pages in a fully associative L1 TLB of 16: page 0 is gone, but is still in the L2 TLB.
    # Its line is in another L1 set than all others and stays in the L1 cache.
    pages = [BASE + 4096 * page + 128 * (page % 32) for page in range(17)]
    warm = [step for page in pages for step in (("load", page), ("wait",))]
    run = Run(SMALL, [*warm, ("load", pages[0]), ("wait",)])
    # After the translation the cache is looked up again.
    assert run.latencies[-1] == ISSUE + L1_TLB + L2_TLB + L1 == 16


def test_a_load_that_misses_the_l2_cache_but_no_tlb() -> None:
    run = Run(SMALL, [("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)])
    assert run.latencies[1] == ISSUE + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1 == 134


def test_tlb_before_the_cache_adds_both_latencies() -> None:
    run = Run(
        change(SMALL, l1={"translation": "before"}),
        [("load", BASE), ("wait",), ("load", BASE), ("wait",)],
    )
    assert run.latencies[1] == ISSUE + L1_TLB + L1 == 6


def test_a_virtual_cache_hits_without_translation() -> None:
    run = Run(
        change(SMALL, l1={"translation": "after"}),
        [("load", BASE), ("wait",), ("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)],
    )
    assert run.count("tlb/L1", "lookups") == 2
    first = ISSUE + L1 + L1_TLB + L2_TLB + WALK + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
    hit = ISSUE + L1
    miss = ISSUE + L1 + L1_TLB + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
    assert run.latencies == [first, hit, miss] == [645, 5, 135]


def _walk_cycles(walk: WalkConfig, *pages: int) -> list[int]:
    """Cycles of each walk, one after the other."""
    script = [step for page in pages for step in (("load", BASE + 4096 * page), ("wait",))]
    run = Run(attrs.evolve(SMALL, walk=walk), script)
    fetch = L1_TLB + L2_TLB + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1 + ISSUE
    return [latency - fetch for latency in run.latencies]


LEVELS = WalkCacheConfig("levels", entries=64, latency=cycles(2))
LINES = WalkCacheConfig("lines", size=Bytes(1024), ways=0, line=Bytes(64), latency=cycles(3))
SAME_TABLE, OTHER_LINE = 1, 8  # page 1: next entry; page 8: next 64-byte line of the leaf table


def test_a_fixed_walk() -> None:
    assert _walk_cycles(WalkConfig(8, "fixed", cycles(500)), 0, SAME_TABLE) == [500, 500]


def test_a_fixed_walk_with_a_cache_pays_the_probe_only() -> None:
    assert _walk_cycles(WalkConfig(8, "fixed", cycles(500), cache=LEVELS), 0) == [502]


def test_a_walk_by_level_without_a_cache() -> None:
    assert _walk_cycles(WalkConfig(8, "per-level", cycles(100)), 0, SAME_TABLE) == [400, 400]


def test_a_walk_by_level_with_cold_and_warm_level_cache() -> None:
    walk = WalkConfig(8, "per-level", cycles(100), cache=LEVELS)
    cold = 2 + 4 * 100
    warm = 2 + 1 * 100  # three upper levels are covered
    assert _walk_cycles(walk, 0, SAME_TABLE, OTHER_LINE) == [cold, warm, warm]


def test_a_walk_by_level_with_cold_and_warm_line_cache() -> None:
    walk = WalkConfig(8, "per-level", cycles(100), cache=LINES)
    cold = 4 * (3 + 100)
    same_line = 4 * 3
    other_line = 4 * 3 + 100
    assert _walk_cycles(walk, 0, SAME_TABLE, OTHER_LINE) == [cold, same_line, other_line]


def test_a_walk_through_memory_with_a_cold_and_a_warm_l2_cache() -> None:
    walk = WalkConfig(8, "memory")
    cold = 4 * (L2 + DRAM)  # each level misses the L2 cache
    warm = 4 * L2
    assert _walk_cycles(walk, 0, SAME_TABLE) == [cold, warm] == [440, 40]


def test_a_walk_through_memory_with_a_level_cache() -> None:
    walk = WalkConfig(8, "memory", cache=LEVELS)
    assert _walk_cycles(walk, 0, SAME_TABLE) == [2 + 4 * 110, 2 + 10]


def test_a_walk_through_memory_with_a_line_cache() -> None:
    walk = WalkConfig(8, "memory", cache=LINES)
    cold = 4 * (3 + 110)
    same_line = 4 * 3
    other_line = 3 * 3 + 3 + 10 + 0  # the leaf's 64-byte line is new, its 128-byte L2 line is not
    assert _walk_cycles(walk, 0, SAME_TABLE, OTHER_LINE) == [cold, same_line, other_line]


def test_a_walk_straight_to_dram() -> None:
    walk = WalkConfig(8, "memory", memory="dram")
    assert _walk_cycles(walk, 0, SAME_TABLE) == [400, 400]


@pytest.mark.parametrize("width", [1, 2, 4])
def test_n_transactions_through_the_load_store_unit(width: int) -> None:
    # One load of 8 lines of one page, `width` transactions a cycle, all hits.
    lines = [BASE + 128 * line for line in range(8)]
    config = change(SMALL, sm={"lsu_width": width})
    config = attrs.evolve(
        config, tlb={**config.tlb, "L1": attrs.evolve(config.tlb["L1"], ports=width)}
    )
    run = Run(config, [("load", *lines), ("wait",), ("load", *lines), ("wait",)])
    assert run.latencies[8:] == [ISSUE + i // width + L1 for i in range(8)]


@pytest.mark.parametrize("interval", [2, 3])
def test_a_load_store_unit_rests_between_transactions(interval: int) -> None:
    lines = [BASE + 128 * line for line in range(8)]
    config = change(SMALL, sm={"lsu_interval": interval})
    run = Run(config, [("load", *lines), ("wait",), ("load", *lines), ("wait",)])
    assert run.latencies[8:] == [ISSUE + i * interval + L1 for i in range(8)]


@pytest.mark.parametrize("ports", [1, 2])
def test_n_transactions_through_the_tlb_port(ports: int) -> None:
    lines = [BASE + 128 * line for line in range(8)]
    config = change(SMALL, sm={"lsu_width": 4})
    config = attrs.evolve(
        config, tlb={**config.tlb, "L1": attrs.evolve(config.tlb["L1"], ports=ports)}
    )
    run = Run(config, [("load", *lines), ("wait",), ("load", *lines), ("wait",)])
    assert run.latencies[8:] == [ISSUE + i // ports + L1 for i in range(8)]


def test_misses_to_one_page_merge_in_the_tlb_mshr() -> None:
    # Two lines of a cold page: one walk; both loads meet the cache when it ends, one a cycle.
    run = Run(SMALL, [("load", BASE, BASE + 128), ("wait",)])
    assert run.count("tlb/L1", "merged") == 1
    assert run.count("walk", "walks") == 1
    first = 645
    second = first + LINE_FLITS  # one cycle later to L2 and DRAM, then behind the first line
    assert run.latencies == [first, second]


def test_misses_to_one_line_merge_in_the_l1_mshr() -> None:
    # Two warps load one line; translations are warm.
    warm = [("load", BASE), ("wait",), ("barrier",)]
    script = [*warm, ("load", BASE + 256), ("wait",)]
    run = Run(SMALL, script, script)
    assert run.count("l1", "merged") == 2  # the warm-up load merges, too
    assert run.count("l2", "lookups") == 2
    one, two = run.loads[2:]
    assert one[1] == two[1]  # both are answered by the same fill
    assert one[1] - one[0] == 134
    assert two[1] - two[0] == 133  # issued one cycle later


def test_a_full_l1_mshr_file_stalls_the_unit() -> None:
    # One MSHR: the second miss may start when the first line has come back.
    config = change(SMALL, l1={"mshrs": 1})
    run = Run(config, [("load", BASE), ("wait",), ("load", BASE + 128, BASE + 256), ("wait",)])
    first = ISSUE + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
    again = L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1  # looks up the cache again
    assert run.latencies[1:] == [first, first + again] == [134, 267]
    assert run.count("l1", "stalls") == 1


def test_a_full_tlb_mshr_file_stalls_the_unit() -> None:
    # One MSHR in the L1 TLB: the second walk starts when the first has ended.
    config = attrs.evolve(SMALL, tlb={**SMALL.tlb, "L1": attrs.evolve(SMALL.tlb["L1"], mshrs=1)})
    run = Run(config, [("load", BASE, BASE + 4096 + 128), ("wait",)])
    translate = L1_TLB + L2_TLB + WALK
    # The second looks up again in the cycle after the unit has served the first, 512.
    assert run.latencies == [645, ISSUE + translate + 1 + translate + 133]
    assert run.count("walk", "walks") == 2


def test_walks_queue_for_walkers() -> None:
    # Three pages, one walker: walks of 500 cycles one after the other.
    config = attrs.evolve(SMALL, walk=WalkConfig(1, "fixed", cycles(500)))
    addresses = [BASE + (4096 + 128) * i for i in range(3)]
    run = Run(config, [("load", *addresses), ("wait",)])
    assert run.count("walk", "queue_cycles") == (500 - 1) + (1000 - 2)
    assert run.latencies == [645, 1145, 1645]


def test_an_ideal_tlb_costs_its_latency_only() -> None:
    config = attrs.evolve(SMALL, tlb={**SMALL.tlb, "L1": attrs.evolve(SMALL.tlb["L1"], ideal=True)})
    run = Run(config, [("load", BASE), ("wait",)])
    assert run.latencies == [ISSUE + L1 + CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1]
    assert run.count("walk", "walks") == 0


def test_an_ideal_crossbar_takes_no_time() -> None:
    run = Run(change(SMALL, crossbar={"ideal": True}), [("load", BASE), ("wait",)])
    assert run.latencies == [ISSUE + L1_TLB + L2_TLB + WALK + L1 + L2 + DRAM]
