"""Page tables of GPUs of a node: layouts of their own, and reads that go past the L2 cache."""

from __future__ import annotations

import attrs
import pytest

from gpusim.config.schema import PolicyConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL
from tests.machine.node_bench import node, page, run_on
from tests.machine.test_node_pages import STORM
from tests.quick import quick
from tests.whole.running import run

LAYOUTS = ("hashed", "elastic-cuckoo", "flattened", "range")
LINKS: dict[str, object] = {
    "node.gpus": 2, "node.link.bandwidth": "16GB/s", "node.link.latency": "50 cycles",
}  # fmt: skip


@pytest.mark.parametrize("gpu", [0, 1])
@pytest.mark.parametrize("layout", quick(LAYOUTS, "hashed"))
def test_each_gpu_walks_a_table_in_its_own_memory(layout: str, gpu: int) -> None:
    memory = attrs.evolve(SMALL.memory, table=PolicyConfig(layout))
    config = node(config=attrs.evolve(SMALL, memory=memory, walk=WalkConfig(8, "memory")))
    done = run_on(config, [("load", page(1)), ("wait",)], gpu=gpu)
    (walked,) = (one for one in done.machine.systems if one.walkers.counters[0].walks)
    assert walked.domain.index == gpu
    path = walked.walkers.table.walk(0, (1 << 20) + 1)
    assert path.entries
    assert all(address in walked.domain.memory for address in path.entries)
    assert len(done.machine.layouts) == 2


@pytest.mark.parametrize("remote", ["migrate-on-touch", "read-duplication"])
@pytest.mark.parametrize("layout", quick(LAYOUTS, "elastic-cuckoo"))
def test_layouts_follow_pages_that_move(layout: str, remote: str) -> None:
    settings, few = (
        STORM | {"node.remote": remote},
        {"log2_words": 14, "threads": 256, "updates": 2},
    )
    first, second = (
        run("tiny", "gups", f"table-{layout}", overrides=settings, parameters=few) for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.summary["migrations"] > 0


def test_walks_that_read_dram_read_that_of_their_gpu() -> None:
    walk = WalkConfig(8, "memory", memory="dram")
    config = node(config=attrs.evolve(SMALL, walk=walk))
    done = run_on(config, [("load", page(1)), ("wait",)])
    assert [system.walkers.counters[0].level_accesses for system in done.machine.systems] == [
        config.memory.levels,
        0,
    ]
    assert done.count("l2", "translation_lookups") == 0
    assert done.count("node/pair", "walks") == 0


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("table-hashed", {}),
        ("memory-walks", {"walk.memory": "dram"}),
        ("walk-warps", {}),
    ],
)
def test_a_shared_table_lies_with_several_gpus(recipe: str, settings: dict[str, object]) -> None:
    load_model("tiny", [recipe], LINKS | settings)
    with pytest.raises(UserError, match=r"node\.page_tables = 'shared': must be \"per-gpu\" with"):
        load_model("tiny", [recipe], LINKS | settings | {"node.page_tables": "shared"})
