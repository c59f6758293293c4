"""What is recorded adds up to what is counted, row by row and cycle by cycle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpusim.machine import Machine
from gpusim.results.event_tables import RECORDS
from gpusim.results.flat_toml import by_dotted_key
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import run

RUNS = [
    ["tiny", "atax"],
    ["tiny", "pagerank"],
    ["tiny", "bfs", "ideal-dram"],
    ["kepler-uvm", "bfs"],
    ["kepler-uvm", "atax"],
    ["apu-hsa", "bfs"],
    ["maxwell-mask", "pagerank", "pwcache"],
    ["a100-mig", "bfs"],
]


@pytest.fixture(
    scope="module",
    params=quick(RUNS, ["kepler-uvm", "bfs"]),
    ids="-".join,
)
def recorded(request: pytest.FixtureRequest) -> Iterator[Result]:
    with run(*request.param, record=tuple(RECORDS)) as result:
        yield result


def counted(result: Result, component: str, *counters: str) -> int:
    rows = result.counters
    chosen = rows[rows.component.str.match(component) & rows.counter.isin(counters)]
    return int(chosen.value.sum())


def test_intervals_tile_each_life(recorded: Result) -> None:
    intervals = recorded.table("intervals").sort_values(["warp", "begin"], kind="stable")
    assert (intervals.end > intervals.begin).all()
    same_warp = intervals.warp.to_numpy()[1:] == intervals.warp.to_numpy()[:-1]
    meets = intervals.begin.to_numpy()[1:] == intervals.end.to_numpy()[:-1]
    assert meets[same_warp].all()
    assert intervals.groupby("warp")[["sm", "slot", "app"]].nunique().eq(1).all(axis=None)
    assert intervals.warp.nunique() <= recorded.applications.warps.sum()  # empty warps end at once
    assert intervals.end.max() <= recorded.applications.end.max()


def test_intervals_add_up_to_the_stall_sums(recorded: Result) -> None:
    intervals = recorded.table("intervals")
    sums = np.zeros(recorded.stall_sums.shape, np.int64)
    np.add.at(sums, (intervals.sm, intervals.app, intervals.state), intervals.end - intervals.begin)
    assert np.array_equal(sums, recorded.stall_sums.values)


def test_stages_tile_each_request(recorded: Result) -> None:
    requests, stages = recorded.table("requests"), recorded.table("stages")
    assert len(requests) == recorded.summary["transactions"]
    first = requests.first_stage.to_numpy()
    last = np.append(first[1:], len(stages)) - 1
    assert (last >= first).all()
    begin, end = stages.begin.to_numpy(), stages.end.to_numpy()
    assert (end > begin).all()
    assert np.array_equal(begin[first], requests.begin)
    assert np.array_equal(end[last], requests.end)
    inner = np.ones(len(stages), bool)
    inner[first] = False
    assert np.array_equal(begin[inner], end[np.flatnonzero(inner) - 1])
    assert np.array_equal(stages.request, np.repeat(np.arange(len(requests)), last - first + 1))


def test_walks_are_those_counted(recorded: Result) -> None:
    walks = recorded.table("walks")
    assert len(walks) == recorded.summary["walks"] > 0
    assert (walks.requested <= walks.started).all()
    assert (walks.started <= walks.finished).all()
    assert (walks.finished - walks.started).sum() == counted(recorded, "walk$", "walk_cycles")
    assert (walks.started - walks.requested).sum() == counted(recorded, "walk$", "queue_cycles")
    assert walks.levels.sum() == counted(recorded, "walk$", "level_accesses")


def test_reads_of_levels_lie_within_their_walks(recorded: Result) -> None:
    reads, page = recorded.table("walk_reads"), ["asid", "vpn"]
    if by_dotted_key(recorded.config_toml)["walk.cost"] != "memory":
        assert reads.empty
        return
    walks = recorded.table("walks").sort_values("started", kind="stable")
    assert len(reads) == walks.levels.sum()
    reads = reads.sort_values("begin", kind="stable")
    both = pd.merge_asof(reads, walks, by=page, left_on="begin", right_on="started")
    assert (both.end <= both.finished).all()
    each = both.groupby([*page, "started"])
    assert (each.depth.diff().dropna() > 0).all(), "from the root downwards"
    assert (both.begin >= each.end.shift().fillna(both.started)).all(), "one after the other"
    assert (each.end.transform("max") <= both.finished).all()


def test_dram_rows_are_the_requests_counted(recorded: Result) -> None:
    dram = recorded.table("dram")
    kinds = ("data_reads", "walk_reads", "writes")
    assert len(dram) == counted(recorded, "dram$", *kinds) > 0
    assert (dram.depth > 0).sum() == counted(recorded, "dram$", "walk_reads")
    assert (dram.kind == 5).sum() == counted(recorded, "dram$", "writes")
    reads = dram[dram.kind != 5]
    latencies = ("data_latency_cycles", "walk_latency_cycles")
    assert (reads.finished - reads.accepted).sum() == counted(recorded, "dram$", *latencies)


def test_tlb_rows_are_the_lookups_counted(recorded: Result) -> None:
    lookups = recorded.table("tlb")
    assert len(lookups) == counted(recorded, "tlb/", "lookups")
    assert lookups.hit.sum() == counted(recorded, "tlb/", "hits")
    levels = [name for name in recorded.states if name.startswith("tlb_")]
    for level, rows in lookups.groupby("level"):
        assert len(rows) == recorded.summary[f"{levels[int(level)]}_lookups"]


@pytest.mark.parametrize(
    ("model", "workload"), quick([("tiny", "bfs"), ("apu-hsa", "bfs")], ("tiny", "bfs"))
)
def test_recording_changes_no_event(
    model: str, workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines: list[Machine] = []

    def build(*args: Any) -> Machine:
        machines.append(Machine(*args))
        return machines[-1]

    monkeypatch.setattr(sys.modules["gpusim.runs.timing"], "Machine", build)
    plain = run(model, workload)
    recorded = run(model, workload, record=tuple(RECORDS))
    assert recorded.digest == plain.digest
    assert machines[0].env.events == machines[1].env.events > 0
    assert machines[0].env.now == machines[1].env.now


@pytest.mark.long
def test_lifetimes_of_tlbs_that_others_look_into() -> None:
    """A look is no use; an entry that a miss takes as its register has ended."""
    with run("kepler-uvm", "bfs", "tlb-neighbours", record=("lifetimes",)) as looked:
        assert looked.counters.query("counter == 'found'").value.sum() > 0
    few = {"tlb.L1.mshrs": 1, "tlb.L1.mshr_policy": "in-tlb"}
    with run("tiny", "atax", overrides=few, record=("lifetimes",)) as taken:
        assert taken.counters.query("counter == 'entries_lost'").value.sum() > 0


@pytest.mark.long
def test_speculative_fetches_go_with_all_records() -> None:
    plain = run("tiny", "bfs", "speculative-fetch")
    with run("tiny", "bfs", "speculative-fetch", record=tuple(RECORDS)) as result:
        assert result.summary["speculative_fetches"] > 0
        assert result.digest == plain.digest
