"""Lines of other GPUs in the L2 cache of the GPU that reads them: latencies by hand, and laws.

A GPU is `bench.SMALL`: crossbar 8 either way and 32 bytes a cycle, L2 cache 10, DRAM 100; a link
moves 32 bytes a cycle and takes 50.
"""

from __future__ import annotations

import random

import pytest

from gpusim.files.units import Bytes
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change
from tests.machine.node_bench import node, page, run_on
from tests.quick import quick
from tests.whole.running import run

ALONE = 259
"""The load without a copy, in `test_node`."""
L2 = 10
HIT = 1 + 4 + 8 + L2 + 8 + 3


def both_sms(*scripts: Script, launches: int = 1) -> Run:
    """GPU 0 has two SMs, with a warp each."""
    config = node(config=change(SMALL, sm={"count": 2}), caching="reader")
    launch = ScriptedLaunch([[script] for script in scripts])
    return Run.of(config, [Tenant("a", ScriptedApplication([launch] * launches), range(2))])


def test_a_load_looks_in_its_own_l2_cache_first() -> None:
    script = [("load", page(1)), ("wait",), ("load", page(1, 128)), ("wait",)]
    reader = run_on(node(caching="reader"), script)
    assert reader.latencies[1] == ALONE + L2
    assert reader.count("node/reader", "fetches") == 2
    assert reader.count("l2", "lookups") == reader.count("l2", "asked") == 2  # at home as well


def test_another_sm_finds_the_line_there() -> None:
    first = [("load", page(1)), ("wait",)]
    later = [("load", page(1, 512)), ("wait",), ("compute", 3000), ("wait",), *first]
    found = both_sms(first, later)
    assert min(found.latencies) == HIT == 34
    assert found.count("node/reader", "fetches") == 2
    assert found.count("node/pair", "loads") == 2


def test_copies_are_gone_when_a_launch_begins() -> None:
    twice = both_sms([("load", page(1)), ("wait",)], launches=2)
    assert twice.count("node/reader", "fetches") == 2
    assert twice.count("node/reader", "invalidated") == 1


def test_a_store_goes_home_and_drops_the_copy() -> None:
    script = [("load", page(1)), ("wait",), ("store", page(1)), ("wait",)]
    stored = run_on(node(caching="reader"), script)
    assert stored.count("node/reader", "dropped") == 1
    assert stored.count("node/pair", "stores") == 1
    home = run_on(node(caching="reader"), [("load", page(0)), ("wait",), ("store", page(0))])
    assert home.count("node/reader", "dropped") == 0
    assert home.count("node/reader", "fetches") == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sector", [32, 128])
def test_gpus_that_read_each_other_do_not_wait_for_ever(sector: int, seed: int) -> None:
    """Each L2 cache has one MSHR, and loads of the other GPU behind its own."""
    draw = random.Random(seed)
    few = {"banks": 1, "mshrs": 1, "mshr_merge": 2, "size": Bytes(4 << 10), "queue": 1}
    small = change(
        SMALL, l2={**few, "sector": Bytes(sector)}, sm={"count": 2}, crossbar={"queue": 1}
    )
    scripts: list[Script] = [
        [
            (draw.choice(["load"] * 6 + ["store", "atomic"]), page(draw.randrange(8), 32 * line))
            for line in draw.sample(range(128), 40)
        ]
        for _ in range(8)
    ]
    blocks = ScriptedLaunch([[script] for script in scripts])
    tenant = Tenant("a", ScriptedApplication([blocks]), range(4))
    assert Run.of(node(config=small, caching="reader"), [tenant]).count("l2", "asked") > 40


NODE: dict[str, object] = {
    "node.gpus": 4, "node.link.bandwidth": "16GB/s", "node.link.latency": "40 cycles",
    "node.link.queue": 2, "node.placement": "interleave", "node.caching": "reader",
}  # fmt: skip
MOVES: dict[str, object] = {
    "node.host_mmu.trip": "30 cycles", "node.host_mmu.entries": 4, "node.host_mmu.walkers": 2,
    "node.host_mmu.latency": "50 cycles",
    "node.remote.policy": "access-counters", "node.remote.threshold": 3,
}  # fmt: skip


@pytest.mark.parametrize("more", quick([{}, MOVES], {}))
def test_laws_hold_where_all_gpus_read_the_same(more: dict[str, object]) -> None:
    first, second = (
        run("tiny", "atax", overrides=NODE | more, parameters={"n": 256}) for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.summary["remote_fetches"] > 0


def test_sectors_of_lines_are_fetched() -> None:
    few = {"n": 128}
    sectored = {"l2.sector": "32B", "node.caching": "reader"}
    found = run("tiny", "atax", overrides=NODE | sectored, parameters=few)
    assert found.summary["remote_fetches"] > 0


@pytest.mark.long
def test_an_l2_cache_of_partitions_keeps_copies() -> None:
    settings = {"node.gpus": 2, "node.caching": "reader", "node.placement": "interleave"}
    found = run("dgx-a100", "atax", "eighth", overrides=settings)
    assert found.summary["remote_fetches"] > 0


@pytest.mark.parametrize("more", [{"node.caching": "home"}, {}, MOVES])
def test_frames_of_other_gpus_are_guessed(more: dict[str, object]) -> None:
    settings = NODE | {"node.placement": "by-array"} | more
    first, second = (
        run("tiny", "atax", "speculative-fetch", overrides=settings, parameters={"n": 128})
        for _ in range(2)
    )
    assert first.digest == second.digest
    rows = first.counters
    used = rows[(rows.component == "speculation") & (rows.counter == "used")].value.sum()
    assert used > 0
