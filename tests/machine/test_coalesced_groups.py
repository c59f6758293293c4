"""Groups of pages whose frames have one number on all GPUs: by hand, and beside an oracle."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.core.policy import PolicyConfig
from gpusim.core.warp_program import Buffer
from gpusim.hardware.walk import NodeTable
from gpusim.machine import Tenant
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch
from tests.machine.node_bench import node, page
from tests.machine.test_node_pages import STORM
from tests.whole.running import run

WALK, LOOKUP, REMOTE, HOME = 500, 10, 259, 134
LOOKUPS = 1 + 10 + LOOKUP
"""In both TLBs, and in the buffer."""
LINKS = {key: value for key, value in STORM.items() if "host_mmu" not in key}


def _groups(gpus: int = 2, entries: int = 64) -> GpuConfig:
    """TLBs of one entry, with a buffer of groups behind them."""
    tlb = {name: attrs.evolve(one, entries=1, ways=1) for name, one in SMALL.tlb.items()}
    kind = PolicyConfig("coalesced-groups", {"entries": entries, "latency": LOOKUP})
    stage = {"groups": StageConfig(kind, "gpu")}
    config = attrs.evolve(SMALL, tlb=tlb, stages=("L1", "L2", "groups", "walk"), stage=stage)
    frames = attrs.evolve(config.memory, frames=PolicyConfig("contiguous"))
    return node(gpus, attrs.evolve(config, memory=frames))


def _loads(*pages: int) -> Script:
    return [step for one in pages for step in (("load", page(one, 128 * one)), ("wait",))]


def _over_array(config: GpuConfig, first: int, *scripts: Script) -> Run:
    """One warp a GPU, over an array that begins at a page, and is mapped before the start."""
    launch = ScriptedLaunch([[list(script)] for script in scripts])
    array = Buffer("a", page(first), 4096 * 16)
    application = ScriptedApplication([launch], buffers=(array,))
    return Run.of(config, [Tenant("scripted", application, range(config.sms))])


def test_the_fellow_of_a_page_that_was_walked_is_not() -> None:
    """Pages 0 and 1 are a group, in the first frame of GPU 0 and of GPU 1."""
    done = _over_array(_groups(), 0, _loads(0, 1, 2, 0), [])
    first, second, third, _ = done.latencies
    assert first == third == LOOKUPS + WALK + HOME
    assert second == LOOKUPS + REMOTE
    assert done.count("walk", "walks") == 2
    assert done.count("stage/groups", "computed") == 2


def test_pages_whose_frames_differ_are_walked() -> None:
    """An array that begins with page 1: page 2 has GPU 0's first frame, page 3 GPU 1's second."""
    done = _over_array(_groups(), 1, _loads(2, 3), [])
    assert done.count("stage/groups", "known") == 1
    assert done.count("stage/groups", "computed") == 0
    assert done.count("walk", "walks") == 2


def _local(done: Run, number: int) -> tuple[int, int]:
    table = done.machine.page_table
    assert isinstance(table, NodeTable)
    mapping = table.find(page(number) >> 12)
    assert mapping is not None
    return table.place_of(mapping.pfn)


@settings(max_examples=12)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9)), min_size=1, max_size=16),
    st.integers(0, 1),
)
def test_it_is_a_list_of_groups(steps: list[tuple[int, int]], start: int) -> None:
    """One access at a time; a buffer of two groups on each GPU, what was used last stands last."""
    scripts: list[Script] = [[], []]
    for turn, (gpu, number) in enumerate(steps):
        idle = 20_000 * (turn + 1) - sum(one[1] for one in scripts[gpu] if one[0] == "compute")
        scripts[gpu] = [*scripts[gpu], ("compute", idle), ("wait",), *_loads(number)]
    done = _over_array(_groups(entries=2), start, *scripts)
    last = [-1, -1]
    kept: list[dict[int, int]] = [{}, {}]
    known = computed = 0
    for gpu, number in steps:
        if last[gpu] == number:
            continue
        last[gpu] = number
        group, own = number // 2, kept[gpu]
        frame = _local(done, number)[1]
        known += group in own
        computed += own.get(group) == frame
        own.pop(group, None)
        own[group] = frame
        if len(own) > 2:
            del own[next(iter(own))]
    assert done.count("stage/groups", "known") == known
    assert done.count("stage/groups", "computed") == computed


def test_storms_end_and_have_equal_digests() -> None:
    few: dict[str, Any] = {"log2_words": 14, "threads": 256, "updates": 2}
    first, second = (
        run("tiny", "gups", "barre-chord", overrides=LINKS, parameters=few) for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.summary["groups_computed"] > 0


def test_what_it_takes_in_bits() -> None:
    with_it, without = (load_model("tiny", names, LINKS) for names in (["barre-chord"], []))
    added = added_bytes(with_it, without)
    assert added == {"stage.groups: frames of groups": 64 * (36 + 18) / 8}
