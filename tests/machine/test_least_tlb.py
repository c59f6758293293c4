"""A TLB of the host that GPUs share, and probes of other GPUs' TLBs: by hand, and naive."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Script
from tests.machine.node_bench import node, page
from tests.machine.test_node_pages import STORM, _after, _together
from tests.whole.running import run

WALK, TRIP, LOOKUP, REMOTE = 500, 100, 10, 159
LINKS = {key: value for key, value in STORM.items() if "host_mmu" not in key}


def _least(first: int = 16, second: int = 64, name: str = "least-tlb", **options: Any) -> GpuConfig:
    """TLBs of these many entries, with the host's TLB behind them."""
    sizes = {"L1": first, "L2": second}
    tlb = {
        name: attrs.evolve(one, entries=sizes[name], ways=sizes[name])
        for name, one in SMALL.tlb.items()
    }
    kind = PolicyConfig(name, {"trip": TRIP, "latency": LOOKUP, **options})
    stage = {"host": StageConfig(kind, "gpu")}
    return node(2, attrs.evolve(SMALL, tlb=tlb, stages=("L1", "L2", "host", "walk"), stage=stage))


def _without(config: GpuConfig) -> GpuConfig:
    return attrs.evolve(config, stages=(), stage={})


def _loads(*pages: int) -> Script:
    return [step for one in pages for step in (("load", page(one, 128 * one)), ("wait",))]


def test_what_each_way_takes() -> None:
    # Page 0, which lies with GPU 0.  The first time it is asked for, of the host's TLB in vain, and
    # walked; page 2 takes its place in TLBs of one entry, and the host's keeps it.
    config = _least(1, 1)
    done = _together(config, _loads(0, 2, 0))
    alone = _together(_without(config), _loads(0, 2, 0))
    more = [one - other for one, other in zip(done.latencies, alone.latencies, strict=True)]
    assert more == [2 * TRIP + LOOKUP, 2 * TRIP + LOOKUP, 2 * TRIP + LOOKUP - WALK]
    assert done.count("stage/host", "found") == 1
    assert done.count("walk", "walks") == 2


def test_a_page_that_another_gpu_has_is_not_walked() -> None:
    # GPU 1 asks for page 1, which lies there, then GPU 0, and then GPU 1 for it again.
    # The line is in that GPU's L2 cache then, from where a load takes 159 cycles, and looks at both
    # TLBs take 1 and 10.
    done = _together(_least(), _after(2000, *_loads(1)), _loads(1, 1))
    assert done.count("stage/host", "shared") == 1
    assert done.count("walk", "walks") == 1
    assert done.latencies[-1] == 159 + 1 + 10 + 3 * TRIP + 2 * LOOKUP


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=14))
def test_it_is_lists_of_pages(steps: list[tuple[int, int]]) -> None:
    # One access at a time; TLBs of one and two entries, a host's of three, a tracker that does not
    # err.  In each list, what was used last stands last.
    scripts: list[Script] = [[], []]
    first: list[int] = [-1, -1]
    second: list[list[int]] = [[], []]
    host: list[int] = []
    found = shared = 0
    for turn, (gpu, number) in enumerate(steps):
        idle = 20_000 * (turn + 1) - sum(one[1] for one in scripts[gpu] if one[0] == "compute")
        scripts[gpu] = [*scripts[gpu], ("compute", idle), ("wait",), *_loads(number)]
        if first[gpu] == number:
            continue
        first[gpu] = number
        if number in second[gpu]:
            second[gpu].remove(number)
        else:
            found += number in host
            shared += number not in host and number in second[1 - gpu]
            host = [one for one in host if one != number]
            if len(second[gpu]) == 2:
                gone = second[gpu].pop(0)
                host = [*(one for one in host if one != gone), gone][-3:]
        second[gpu].append(number)
    done = _together(_least(1, 2, entries=3, bits=40), *scripts)
    assert done.count("stage/host", "found") == found
    assert done.count("stage/host", "shared") == shared


def test_what_the_host_lets_go_is_spilled_to_another_gpu() -> None:
    """TLBs of one entry, a host's of one: page 0 goes to the host, page 2 after it, and page 0 to
    GPU 1, which then needs no walk of it; what it lets go of that is not kept again."""
    scripts = [_loads(0, 2, 4), _after(20_000, *_loads(0, 1))]
    done = _together(_least(1, 1, "least-tlb-spilling", entries=1), *scripts)
    assert done.count("stage/host", "spilled") == 1
    assert done.count("stage/host", "kept") == 2
    assert done.latencies[3] == REMOTE + 1 + 10
    plain = _together(_least(1, 1, entries=1), *scripts)
    assert done.count("walk", "walks") == plain.count("walk", "walks") - 1


@settings(max_examples=12)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 7)), min_size=1, max_size=16))
def test_spilling_is_lists_of_pages(steps: list[tuple[int, int]]) -> None:
    """As above; pages of the host's list know the GPU that let them go, and spilled ones a bit."""
    scripts: list[Script] = [[], []]
    first: list[int] = [-1, -1]
    second: list[list[tuple[int, bool]]] = [[], []]
    host: list[tuple[int, int]] = []
    found = spilled = 0

    def insert(gpu: int, number: int, bit: bool, chained: bool) -> None:
        nonlocal host, spilled
        second[gpu] = [one for one in second[gpu] if one[0] != number]
        gone = second[gpu].pop(0) if len(second[gpu]) == 2 else None
        second[gpu].append((number, bit))
        if gone is None or gone[1]:
            return
        host = [*(one for one in host if one[0] != gone[0]), (gone[0], gpu)]
        if len(host) > 2:
            oldest, source = host.pop(0)
            if not chained:
                spilled += 1
                insert(1 - source, oldest, bit=True, chained=True)

    for turn, (gpu, number) in enumerate(steps):
        idle = 20_000 * (turn + 1) - sum(one[1] for one in scripts[gpu] if one[0] == "compute")
        scripts[gpu] = [*scripts[gpu], ("compute", idle), ("wait",), *_loads(number)]
        if first[gpu] == number:
            continue
        first[gpu] = number
        mine = [one for one in second[gpu] if one[0] == number]
        if mine:
            second[gpu].remove(mine[0])
            second[gpu].append(mine[0])
            continue
        found += any(one[0] == number for one in host)
        host = [one for one in host if one[0] != number]
        insert(gpu, number, bit=False, chained=False)
    config = _least(1, 2, "least-tlb-spilling", entries=2, tracked=0)
    done = _together(config, *scripts)
    assert done.count("stage/host", "found") == found
    assert done.count("stage/host", "spilled") == spilled


def test_storms_end_and_have_equal_digests() -> None:
    few = {"log2_words": 14, "threads": 256, "updates": 2}
    sets = LINKS | {"tlb.L2.entries": 16, "node.placement": "interleave"}
    first, second = (
        run("tiny", "gups", "least-tlb", overrides=sets, parameters=few) for _ in range(2)
    )
    assert first.digest == second.digest
    assert first.summary["iommu_host_hits"] > 0


def test_it_is_refused_where_gpus_ask_a_host() -> None:
    with pytest.raises(UserError, match="own table need not have"):
        load_model("tiny", ["least-tlb"], STORM)
    with pytest.raises(UserError, match="takes in what the last TLB evicts, and looks for pages"):
        load_model("tiny", ["least-tlb"], LINKS | {"tlb.L2.sets": "base-delta"})


def test_it_takes_in_what_a_tlb_with_a_hash_evicts() -> None:
    few = {"log2_words": 14, "threads": 256, "updates": 2}
    sets = LINKS | {"tlb.L2.entries": 16, "tlb.L2.hash": "xor", "node.placement": "interleave"}
    with run("tiny", "gups", "least-tlb", overrides=sets, parameters=few) as result:
        assert result.summary["iommu_host_hits"] > 0


def test_what_it_takes_in_bits() -> None:
    with_it, without = (load_model("tiny", names, LINKS) for names in (["least-tlb"], []))
    added = added_bytes(with_it, without)
    assert added["stage.iommu: tracker of a GPU"] == 1024 * 12 / 8
