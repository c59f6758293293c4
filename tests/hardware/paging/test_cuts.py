"""Where a run is cut, work is counted as far as it has come, and means are of what has ended."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

import gpusim
from gpusim.machine import Machine
from gpusim.results.result import Result
from gpusim.runs.stopping import Stopping, parse_rules
from tests.hardware.paging.bench import (
    BATCH,
    L1_TLB,
    L2_TLB,
    MOVE,
    OVERHEAD,
    WALK,
    WAY,
    each,
    paged,
    run,
)
from tests.quick import quick

FAULTS_AT = 2 + L1_TLB + L2_TLB + WALK
"""The warp begins in cycle 1, its lookup in cycle 2; the walk finds nothing."""
REPLAY_AT = FAULTS_AT + BATCH + OVERHEAD + MOVE + WAY


def counters_at(cycle: int) -> dict[str, int]:
    """Counters of two faults one after the other, at a cut."""
    machines: list[Machine] = []

    def stop(machine: Machine) -> None:
        machines.append(machine)
        Stopping(machine, parse_rules([f"{cycle}cycles"], machine.names))

    run(paged(), each(3, 9), attach=stop)
    rows = machines[0].first_runs.rows()
    return {f"{row.component}.{row.name}": row.value for row in rows}


@pytest.mark.parametrize("cycle", [FAULTS_AT - 1, FAULTS_AT + 1, REPLAY_AT - 1, REPLAY_AT + 1])
def test_one_fault_cut_in_two(cycle: int) -> None:
    found = counters_at(cycle)
    works = min(max(cycle - FAULTS_AT, 0), REPLAY_AT - FAULTS_AT)
    moves = cycle - FAULTS_AT - BATCH
    assert found["faults.faults"] == (cycle > FAULTS_AT)
    assert found["faults.replays"] == (cycle > REPLAY_AT)
    assert found["faults.fault_cycles"] == (REPLAY_AT - FAULTS_AT) * (cycle > REPLAY_AT)
    assert found["paging.busy_cycles"] == works
    assert found["link.busy_to_device"] == min(max(moves, 0), OVERHEAD + MOVE)
    assert found["link.bytes_to_device"] == 4096 * (moves >= OVERHEAD + MOVE)
    assert found["walk.walks"] == (cycle > FAULTS_AT)
    assert found["walk.walk_cycles"] == WALK * found["walk.walks"]


SETTINGS = {
    "paging.oversubscription": 2,
    "paging.eviction_block": "4KiB",
    "paging.pinned": ["x"],
}


def result_of(until: int | None) -> Result:
    return gpusim.simulate(
        gpusim.load_model("tiny", ["demand-paging"], SETTINGS),
        gpusim.load_workload("atax", "smoke", overrides={"n": 64, "iterations": 1}),
        record=("fault_batches", "transfers", "walks"),
        until=[] if until is None else [f"{until}cycles"],
    )


@pytest.fixture(scope="module")
def whole() -> Iterator[Result]:
    with result_of(None) as made:
        yield made


def busy(rows: pd.DataFrame, until: int) -> int:
    """Cycles of intervals up to one."""
    return int((rows.end.clip(upper=until) - rows.begin.clip(upper=until)).sum())


@pytest.mark.parametrize("until", quick([5_000, 20_000, 100_000, 333_333], 20_000, 100_000))
def test_counters_at_a_cut_are_those_of_the_events_before_it(until: int, whole: Result) -> None:
    with result_of(until) as part:
        table = part.counters.groupby(["component", "counter"]).value.sum()
        numbers = part.summary
    transfers, walks = whole.table("transfers"), whole.table("walks")
    walks = walks[walks.finished < until]
    for lane in ("device", "host"):
        rows = transfers[transfers.to_host == (lane == "host")]
        assert table["link", f"busy_to_{lane}"] == busy(rows, until)
        moved = rows[rows.end < until]["bytes"].sum()
        assert moved <= table["link", f"bytes_to_{lane}"] <= rows[rows.end <= until]["bytes"].sum()
    assert table["paging", "busy_cycles"] == busy(whole.table("fault_batches"), until)
    assert numbers["driver_use"] <= 1
    assert numbers["link_use"] <= 1
    assert numbers["walk_latency"] == pytest.approx(
        (walks.finished - walks.started).mean(), rel=0.01
    )
    assert 0 < numbers.get("fault_latency", 1) <= until
