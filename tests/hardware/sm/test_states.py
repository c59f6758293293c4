"""The states of warps: exact for a lone load, and a tiling of every life."""

from __future__ import annotations

from collections import defaultdict

import attrs

from gpusim.config.translation import WalkConfig
from tests.hardware.sm.observed import Observed, launch, observe, tenant
from tests.machine.bench import SMALL, change

BASE = 1 << 32


def test_a_load_that_misses_everywhere() -> None:
    seen = observe(SMALL, [("load", BASE), ("wait",)])
    assert seen.of(0) == [
        ("issuing", 1, 2),
        ("tlb_L1", 2, 3),
        ("tlb_L2", 3, 13),
        ("walk", 13, 513),
        ("cache", 513, 517),
        ("interconnect", 517, 525),
        ("l2", 525, 535),
        ("dram", 535, 635),
        ("interconnect", 635, 646),
    ]


def test_a_load_that_hits_in_the_l2() -> None:
    seen = observe(SMALL, [("atomic", BASE), ("wait",), ("load", BASE), ("wait",)])
    begin = seen.of(0)[-1][2] - 34
    assert seen.of(0)[-5:] == [
        ("issuing", begin, begin + 1),
        ("cache", begin + 1, begin + 5),
        ("interconnect", begin + 5, begin + 13),
        ("l2", begin + 13, begin + 23),
        ("interconnect", begin + 23, begin + 34),
    ]


def test_a_load_that_hits_in_the_l1() -> None:
    seen = observe(SMALL, [("load", BASE), ("wait",), ("load", BASE), ("wait",)])
    assert seen.of(0)[-2:] == [("issuing", 646, 647), ("cache", 647, 651)]


def test_a_miss_that_merges_in_the_l2_waits_for_dram() -> None:
    config = change(SMALL, sm={"count": 2})
    script = [("load", BASE), ("wait",)]
    seen = Observed(config, tenant(config, launch(config, [script], [script])))
    # The block on SM 1 opens a cycle later; its translation merges and both meet the L2 at the
    # same time, so that it is looked up one cycle after the other, and waits for the same line.
    times = [defaultdict(int), defaultdict(int)]
    for warp in (0, 1):
        for state, begin, end in seen.of(warp):
            times[warp][state] += end - begin
    assert times[0]["dram"] == times[1]["dram"] == 100


def test_waiting_for_a_walker() -> None:
    config = attrs.evolve(SMALL, walk=WalkConfig(1, "fixed"))
    pages = [("load", BASE), ("load", BASE + 4096 + 128), ("wait",)]
    seen = observe(config, pages)
    assert ("walker", 13, 513) not in seen.of(0)
    # The second translation reaches the walkers in 14, gets one in 513 and is there in 1013.
    assert ("walker", 14, 513) in seen.of(0)
    assert ("walk", 513, 1013) in seen.of(0)


def test_waiting_for_the_load_store_unit() -> None:
    config = change(SMALL, sm={"lsu_queue": 1})
    lines = [BASE + 128 * i for i in range(4)]
    seen = observe(config, [("load", *lines), ("wait",), ("load", *lines), ("load", *lines)])
    # The queue has room when the last of the four transactions has started, four cycles after
    # the issue; then the second load issues, and the last of its transactions hits in 9.
    begin = seen.life(0)[1] - 12
    assert seen.of(0)[-5:] == [
        ("issuing", begin, begin + 1),
        ("lsu", begin + 1, begin + 4),
        ("issuing", begin + 4, begin + 5),
        ("lsu", begin + 5, begin + 8),
        ("cache", begin + 8, begin + 12),
    ]
