"""Last TLBs as slices by address: what the way takes, who looks up what, and where tables lie."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.config.translation import WalkConfig
from gpusim.core.errors import UserError
from gpusim.core.policy import PolicyConfig
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script
from tests.machine.node_bench import node, page
from tests.machine.test_node_pages import STORM, _after, _together
from tests.whole.running import run

TRIP = 30
LINKS = {key: value for key, value in STORM.items() if "host_mmu" not in key}


def _homes(gpus: int = 2, config: GpuConfig = SMALL, **options: Any) -> GpuConfig:
    kind = PolicyConfig("home-slices", {"trip": TRIP, **options})
    stage = {"home": StageConfig(kind, "gpu")}
    cut = attrs.evolve(config, stages=("L1", "home", "L2", "walk"), stage=stage)
    return node(gpus, cut, page_tables="shared")


def _without(config: GpuConfig) -> GpuConfig:
    return attrs.evolve(config, stages=(), stage={})


def _loads(*pages: int) -> Script:
    return [step for one in pages for step in (("load", page(one, 128 * one)), ("wait",))]


def _lookups(done: Run) -> list[int]:
    """Lookups of the last TLB of each GPU."""
    rows = [row for row in done.machine.counter_rows() if row.component == "tlb/L2"]
    return [row.value for row in rows if row.name == "lookups"]


@pytest.mark.parametrize(("number", "way"), [(1, 0), (2, 2 * TRIP)])
def test_a_page_of_another_home_takes_the_way_there_and_back(number: int, way: int) -> None:
    # GPU 1 alone has a block; page 1 is its own, page 2 has its home on GPU 0.
    config = _homes(run=1)
    done, alone = (_together(one, _loads(number)) for one in (config, _without(config)))
    assert done.latencies[0] == alone.latencies[0] + way
    assert done.count("stage/home", "elsewhere") == (way > 0)


def test_a_page_that_all_use_is_walked_once() -> None:
    config = _homes(run=1)
    scripts = [_after(3000 * gpu + 1, *_loads(1)) for gpu in range(2)]
    assert _together(config, *scripts).count("walk", "walks") == 1
    assert _together(_without(config), *scripts).count("walk", "walks") == 2


@settings(max_examples=10)
@given(
    st.sets(st.tuples(st.integers(0, 1), st.integers(0, 15)), min_size=1, max_size=12).map(sorted),
    st.sampled_from([1, 2, 4]),
)
def test_slices_look_up_their_own_pages(steps: list[tuple[int, int]], pages: int) -> None:
    # First TLBs hold all pages, so each page of a GPU is looked up once, at its home.
    scripts = [_loads(*(number for one, number in steps if one == gpu)) for gpu in range(2)]
    done = _together(_homes(run=pages), *scripts)
    homes = [number // pages % 2 for _, number in steps]
    assert _lookups(done) == [homes.count(0), homes.count(1)]


def test_tables_lie_with_the_homes_of_their_pages() -> None:
    # Runs of 512 pages, which one table maps: both GPUs read pages of both runs, and what is read
    # of last-level tables crosses no link; the two upper levels lie with one GPU.
    walks = attrs.evolve(SMALL, walk=WalkConfig(8, "memory"))
    script = _loads(0, 1, 512, 513)
    coarse, fine = (
        _together(_homes(config=walks, run=pages), script, _after(9000, *script))
        for pages in (512, 1)
    )
    leaves = coarse.count("walk", "walks")
    assert leaves == fine.count("walk", "walks") == 4
    read = coarse.count("node/pair", "walks")
    assert read <= coarse.count("walk", "level_accesses") - leaves
    assert fine.count("node/pair", "walks") > read


def test_storms_end_and_have_equal_digests() -> None:
    few = {"log2_words": 14, "threads": 256, "updates": 2}
    sets = LINKS | {"tlb.L2.queue": 1}
    made = (run("tiny", "gups", "mgvm", overrides=sets, parameters=few) for _ in range(2))
    first, second = made
    assert first.digest == second.digest


def test_parts_of_block_slots_know_no_sms_of_other_gpus() -> None:
    message = r"tlb\.L2\.array.*indexed by block slots.*stage home .'home-slices'."
    with pytest.raises(UserError, match=message):
        load_model("tiny", ["mgvm"], LINKS | {"tlb.L2.array": "tb-partitioned"})


def test_it_is_refused_where_gpus_ask_a_host() -> None:
    with pytest.raises(UserError, match="own table need not have"):
        load_model("tiny", ["mgvm"], STORM | {"node.page_tables": "per-gpu"})
