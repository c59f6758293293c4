"""A node of small GPUs: latencies worked out by hand, saturated links, and laws.

A GPU is `bench.SMALL`: crossbar 8 either way and 32 bytes a cycle, L2 cache 10, DRAM 100.  A link
moves 32 bytes a cycle and takes 50; its packets have 16 bytes beside data.
"""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import PolicyConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.files.units import Bandwidth, Bytes, cycles
from gpusim.machine import Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.node_bench import node, page, run_on

ISSUE, L1, CROSSBAR, L2, DRAM = 1, 4, 8, 10, 100
LINE_FLITS = 4
LINK = 50


def _link(data: int) -> int:
    """A packet on a free link: its bytes at 32 a cycle, begun cycles count, and the way."""
    return -(-(16 + data) // 32) + LINK


THERE = ISSUE + L1 + CROSSBAR
WARM = ("load", page(1)), ("wait",)
"""The page's translation is in all TLBs, its first line in the owner's L2 cache."""


def test_a_remote_load_that_misses_the_owners_l2_cache() -> None:
    run = run_on(node(), [*WARM, ("load", page(1, 128)), ("wait",)])
    there = THERE + _link(0)
    served = CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1
    back = _link(128) + CROSSBAR + LINE_FLITS - 1
    assert run.latencies[1] == there + served + back == 259


def test_a_remote_load_that_hits_in_the_owners_l2_cache() -> None:
    scripts = [*WARM, ("load", page(1, 128)), ("wait",)]
    launch = ScriptedLaunch([[scripts]] * 2)
    tenant = Tenant("both", ScriptedApplication([launch]), range(2))
    config = node(blocks=PolicyConfig("round-robin"))
    run = Run.of(config, [tenant])
    # GPU 1 has loaded the line from its own memory long before.
    remote = max(run.loads[2:])
    hit = THERE + _link(0) + CROSSBAR + L2 + CROSSBAR + LINE_FLITS - 1 + _link(128) + 11
    assert remote[1] - remote[0] == hit == 159


@pytest.mark.parametrize(("kind", "data_back"), [("store", 0), ("reduce", 0), ("atomic", 32)])
def test_a_remote_store_and_atomics(kind: str, data_back: int) -> None:
    run = run_on(node(), [*WARM, (kind, page(1)), ("wait",)])
    there = THERE + _link(32)
    served = CROSSBAR + L2 + CROSSBAR
    assert run.latencies[1] == there + served + _link(data_back) + CROSSBAR


def test_states_of_a_remote_load() -> None:
    run = run_on(node(), [*WARM, ("load", page(1, 128)), ("wait",)])
    states = run.states()
    assert states["link"] == 2 * (_link(0) + _link(128))
    assert states["remote"] == 2 * (CROSSBAR + L2 + DRAM + CROSSBAR + LINE_FLITS - 1)
    assert "l2" not in states
    assert "dram" not in states


def test_a_switch_takes_two_links_and_a_ring_as_many_as_there_are_between() -> None:
    line = [*WARM, ("load", page(1, 128)), ("wait",)]
    near = run_on(node(), line).latencies[1]
    switch = run_on(node(link={"topology": "switch"}), line).latencies[1]
    assert switch == near + _link(0) + _link(128)
    far = [("load", page(2)), ("wait",), ("load", page(2, 128)), ("wait",)]
    ring = run_on(node(4, link={"topology": "ring"}), far).latencies[1]
    assert ring == switch


@pytest.mark.parametrize("topology", ["all-to-all", "switch", "ring", "mesh"])
def test_a_saturated_link_has_its_bandwidth(topology: str) -> None:
    lines = [page(1 + 2 * (n // 32), 128 * (n % 32)) for n in range(512)]
    warps = [[("load", *lines[32 * w : 32 * w + 32]), ("wait",)] for w in range(16)]
    slow = {"topology": topology, "bandwidth": Bandwidth(4_000_000_000)}
    config = change(node(link=slow), l1={"mshrs": 512}, sm={"max_loads": 64})
    config = change(config, l2={"mshrs": 512}, walk={"latency": cycles(1)})
    run = run_on(config, *warps)
    came = [row for row in run.machine.counter_rows() if row.name == "bytes_back"]
    moved = sum(row.value for row in came)
    assert moved == 512 * (128 + 16)
    first, last = min(end for _, end in run.loads), max(end for _, end in run.loads)
    assert (moved - 144) / (last - first) == pytest.approx(4, rel=0.01)


WALKS = attrs.evolve(SMALL, walk=WalkConfig(8, "memory"))


def test_a_table_of_its_own_is_walked_in_its_own_memory() -> None:
    config = node(config=WALKS, page_tables="per-gpu")
    run = run_on(config, [("load", page(1)), ("wait",)])
    assert run.count("walk", "walk_cycles") == 4 * (L2 + DRAM)
    assert run.count("node/pair", "walks") == 0


def test_parts_of_a_shared_table_are_walked_over_links() -> None:
    # Tables lie where they were needed first: with GPU 0, as it places pages before the start,
    # and GPU 1 reads them there.
    config = node(config=WALKS, page_tables="shared")
    run = run_on(config, [("load", page(1)), ("wait",)], gpu=1)
    own = run_on(config, [("load", page(1)), ("wait",)], gpu=0)
    assert own.count("walk", "walk_cycles") == 4 * (L2 + DRAM)
    assert run.count("node/pair", "walks") == 0  # alone, GPU 1 is the first that needs them
    both = Run.of(
        config,
        [
            Tenant(
                "both",
                ScriptedApplication(
                    [
                        ScriptedLaunch(
                            [
                                [[("load", page(0)), ("wait",)]],
                                [[("compute", 5000), ("wait",), ("load", page(2)), ("wait",)]],
                            ]
                        )
                    ]
                ),
                range(2),
            )
        ],
    )
    remote = _link(0) + L2 + _link(32)
    assert both.count("node/pair", "walks") == 4
    assert both.count("walk", "walk_cycles") == 4 * (L2 + DRAM) + 4 * remote


def test_a_gpu_with_nothing_remote_is_as_it_is_alone() -> None:
    script = [
        [("load", page(n, 128 * w)), ("store", page(n, 128 * w)), ("wait",)]
        for n in range(6)
        for w in range(2)
    ]
    alone = Run(WALKS, *script)
    config = node(config=WALKS, placement=PolicyConfig("first-touch"))
    for gpu in (0, 1):
        run = run_on(config, *script, gpu=gpu)
        assert run.loads == alone.loads
        rows = {
            (row.component, row.instance, row.name): row.value
            for row in run.machine.counter_rows()
            if row.value and not row.component.startswith("node/")
        }
        expected = {
            (
                row.component,
                row.instance + (gpu if row.component in _BY_GPU else 0),
                row.name,
            ): row.value
            for row in alone.machine.counter_rows()
            if row.value
        }
        assert rows == expected


_BY_GPU = (
    "sm", "l1", "tlb/L1", "tlb/L2", "walk", "l2", "dram", "crossbar/requests", "crossbar/replies",
)  # fmt: skip
"""Components of which each GPU has one in the bench."""


def test_what_does_not_run_on_a_node_is_refused() -> None:
    sets = {"node.gpus": 2, "node.link.bandwidth": "10GB/s", "node.link.latency": "1 cycles"}
    for more, what in (
        (
            {"walk.memory": "dram", "walk.cost": "memory", "node.page_tables": "shared"},
            "walk.memory",
        ),
        ({"node.gpus": 0}, "from 1 to 64"),
        ({"node.blocks": "contigous"}, "contiguous"),
        ({"node.placement": "intereave"}, "interleave"),
        ({"node.link.topology": "star"}, "all-to-all"),
    ):
        with pytest.raises(UserError, match=what):
            load_model("tiny", [], sets | more)
    with pytest.raises(UserError, match="not with mig"):
        load_model("a100-mig", [], sets)


def test_memory_is_one_address_space_of_all_gpus() -> None:
    run = run_on(node(4), [("load", *(page(n) for n in range(8))), ("wait",)])
    pfns = [run.machine.page_table.find((1 << 20) + n).pfn for n in range(8)]
    frames = (1 << 30) // 4096
    assert [pfn // frames for pfn in pfns] == [0, 1, 2, 3] * 2
    assert Bytes(1 << 30) == run.machine.config.memory.size
