"""The mechanisms of `docs/examples`: outside of the package, without a patch, with an effect."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.machine import Machine
from gpusim.results.result import Result
from tests import ROOT
from tests.quick import quick
from tests.whole.running import SMALLER, base_run
from tests.whole.test_dram_schedulers import SMALL as FEW_SMS
from tests.whole.test_relaunch import pair

EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


TWICE = {"iterations": 2}
"""A program that comes back to its pages."""


def run(
    workload: str = "bfs",
    model: str = "tiny",
    parameters: dict[str, object] | None = None,
    **keys: Any,
) -> Result:
    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    loaded = gpusim.load_model(model, overrides=overrides)
    sizes = {**SMALLER.get(workload, {}), **(parameters or {})}
    return gpusim.simulate(loaded, gpusim.load_workload(workload, "smoke", overrides=sizes))


def total(result: Result, component: str, name: str) -> int:
    rows = result.counters
    found = rows[(rows.component == component) & (rows.counter == name)]
    assert len(found), f"{component} does not count {name}"
    return int(found.value.sum())


@pytest.mark.parametrize(
    ("kind", "before"),
    quick(product(("NextPage", "Stride"), ("L2", "walk")), ("NextPage", "walk")),
)
def test_prefetchers(kind: str, before: str) -> None:
    stages = {"L2": ["L1", "pf", "L2", "walk"], "walk": ["L1", "L2", "pf", "walk"]}[before]
    scope = "sm" if before == "L2" else "gpu"
    keys = {"stages": stages, "stage__pf__kind": f"prefetching:{kind}", "stage__pf__scope": scope}
    result = run("atax", parameters=TWICE, **keys)
    asked = total(result, "stage/pf", "prefetches")
    assert asked > 0
    assert total(result, "stage/pf", "buffer_hits") > 0
    assert (
        total(
            result,
            f"{'tlb/L2' if before == 'L2' else 'walk'}/prefetch",
            "lookups" if before == "L2" else "requests",
        )
        == asked
    )
    for level in ("tlb/L1", "tlb/L2"):  # prefetches are in no counter of demand
        hits, misses = total(result, level, "hits"), total(result, level, "misses")
        assert hits + misses == total(result, level, "lookups")
    assert "stage_pf" in result.states
    assert run("atax", parameters=TWICE, **keys).digest == result.digest


def test_the_next_page_is_there_when_a_program_walks_on() -> None:
    """Each page of a long row is asked for once: with a buffer in front, half of them are there."""
    keys = {"stages": ["L1", "L2", "pf", "walk"], "stage__pf__kind": "prefetching:NextPage"}
    plain, ahead = base_run("tiny", "atax"), run("atax", **keys)
    assert total(ahead, "walk", "requests") < total(plain, "walk", "requests")


def test_an_order_of_walks() -> None:
    plain = base_run("tiny", "atax")
    other = run("atax", walk__order="walk_orders:ShortestInstructionFirst")
    assert other.summary["cycles"] != plain.summary["cycles"]
    assert total(other, "walk", "walks") > 0


def test_a_tlb_that_asks_for_neighbours() -> None:
    keys = {"tlb__L2__array": "coalescing_tlb:CoalescingArray", "memory__frames": "contiguous"}
    plain, other = run("atax", memory__frames="contiguous"), run("atax", **keys)
    assert total(other, "tlb/L2", "pages_coalesced") > 0
    assert other.summary["tlb_L2_hit_rate"] > plain.summary["tlb_L2_hit_rate"]


@pytest.mark.long
def test_a_table_of_a_frame_each() -> None:
    keys = {"memory__table": "inverted_table:InvertedTable", "walk__cache": "none"}
    result = run("gups", **keys)
    levels = result.summary["walk_levels"]
    assert 2 <= levels < 3, "an anchor, and a chain that is seldom longer than an entry"
    assert run("gups", **keys).digest == result.digest
    promoted = run(
        "atax",
        **keys,
        memory__page="64KiB",
        memory__frames="promotion:ReservingFrames",
        stages=["L1", "L2", "promoter", "walk"],
        stage__promoter__kind={"policy": "promotion:Promoter", "touched": 4},
    )
    assert total(promoted, "stage/promoter", "promotions") > 0


def test_a_tlb_of_ranges_has_what_is_mapped_ahead_in_few_entries() -> None:
    keys = {"tlb__L2__array": "range_tlb:RangeArray", "memory__mapped": "ahead"}
    plain, other = run("atax", memory__mapped="ahead"), run("atax", **keys)
    assert total(other, "tlb/L2", "pages_in_ranges") > 10 * total(other, "tlb/L2", "ranges")
    assert other.summary["walks"] < plain.summary["walks"] / 2


def test_a_tlb_in_memory() -> None:
    keys = {"stages": ["L1", "L2", "far", "walk"], "stage__far__kind": "memory_tlb:MemoryTlb"}
    plain, other = base_run("tiny", "gups"), run("gups", **keys)
    assert total(other, "walk", "walks") < total(plain, "walk", "walks") / 3
    assert total(other, "stage/far", "reads") == total(other, "page_table/stages", "l2_lookups")


@pytest.mark.long
def test_promotion() -> None:
    small = {"memory__page": "64KiB", "memory__frames": "promotion:ReservingFrames"}
    keys = {
        **small,
        "stages": ["L1", "L2", "promoter", "walk"],
        "stage__promoter__kind": {"policy": "promotion:Promoter", "touched": 4},
    }
    plain, other = (run("atax", parameters=TWICE, **one) for one in (small, keys))
    assert total(other, "stage/promoter", "promotions") > 0
    assert total(other, "walk", "walks") < total(plain, "walk", "walks")


def test_a_warp_scheduler_that_reacts_to_misses() -> None:
    strict = {"policy": "throttling:Throttling", "window": 8, "high": 0.05, "low": 0.01}
    plain = base_run("tiny", "bfs")
    assert run("bfs", sm__scheduler=strict).summary["cycles"] != plain.summary["cycles"]


def test_a_dram_scheduler_whose_channels_share_a_table(tmp_path: Path) -> None:
    seen: list[object] = []

    def look(machine: Machine) -> None:
        queues = [q for one in machine.systems for channel in one.channels for q in channel.queues]
        seen.extend(queue._service for queue in queues if hasattr(queue, "_service"))

    loaded = gpusim.load_model(
        "maxwell-mask", overrides={**FEW_SMS, "dram.scheduler": "least_served:LeastServed"}
    )
    result = gpusim.simulate(loaded, pair(tmp_path, "never"), attach=look)
    assert len(seen) > 1
    assert len({id(one) for one in seen}) == 1
    assert sum(seen[0].requests) > 0  # type: ignore[attr-defined]
    assert result.summary["cycles"] > 0


def test_options_are_checked_when_the_model_is_loaded() -> None:
    with pytest.raises(UserError, match=r"degree.*must be 1 or more"):
        gpusim.load_model(
            "tiny",
            overrides={
                "stages": ["L1", "L2", "pf", "walk"],
                "stage.pf.kind": {"policy": "prefetching:NextPage", "degree": 0},
            },
        )
