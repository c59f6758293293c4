"""Timelines of whole runs agree with what the machine counted, and with what it recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import gpusim
from gpusim.core.errors import UserError
from gpusim.results import RECORDS, Result
from gpusim.views.timelines import (
    Selection,
    Window,
    stalled_on,
    stalls,
    timeline,
    walks_at,
    window_of,
)
from tests.machine.bench import SMALL
from tests.views.timelines.scripted import simulate
from tests.whole.running import run
from tests.whole.test_relaunch import pair


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("tiny", "bfs"), id="tiny-bfs"),
        pytest.param(("apu-hsa", "atax"), id="apu-hsa-atax", marks=pytest.mark.long),
    ],
)
def recorded(request: pytest.FixtureRequest) -> Iterator[Result]:
    with run(*request.param, record=tuple(RECORDS)) as result:
        yield result


def counted(result: Result, component: str, *counters: str) -> int:
    rows = result.counters
    return int(rows[rows.component.str.match(component) & rows.counter.isin(counters)].value.sum())


@pytest.mark.parametrize("bin_cycles", [1, 777])
def test_activity_adds_up_to_the_counters(recorded: Result, bin_cycles: int) -> None:
    window = window_of(recorded, bin_cycles=bin_cycles)
    found = timeline(recorded, window)
    width = xr.DataArray(window.widths, dims="cycle")

    def total(name: str, **chosen: str) -> float:
        return float((found[name].sel(chosen) * width).sum())

    assert total("walks_running") == pytest.approx(counted(recorded, "walk$", "walk_cycles"))
    assert total("walks_queued") == pytest.approx(counted(recorded, "walk$", "queue_cycles"))
    for level in found.level.values.tolist():
        lookups = counted(recorded, f"tlb/{level}$", "lookups")
        assert total("tlb_lookups", level=level) == pytest.approx(lookups)
        hits = (found.tlb_lookups * found.tlb_hit_rate).sel(level=level) * width
        assert float(hits.sum()) == pytest.approx(counted(recorded, f"tlb/{level}$", "hits"))
    # Posted write-backs may end after the run.
    late = int((recorded.table("dram").finished >= window.end).sum())
    moved = counted(recorded, "dram$", "data_read_bytes", "write_bytes")
    each = moved // counted(recorded, "dram$", "data_reads", "writes")
    walks = counted(recorded, "dram$", "walk_read_bytes")
    assert total("dram_bytes", traffic="translation") == pytest.approx(walks)
    assert total("dram_bytes", traffic="data") == pytest.approx(moved - late * each)
    requests = recorded.table("requests")
    assert total("outstanding") == pytest.approx((requests.end - requests.begin).sum())
    assert total("resident_warps") == pytest.approx(recorded.summary["warp_cycles"])


def test_wider_bins_are_sums_of_narrower_ones(recorded: Result) -> None:
    fine = stalls(recorded, window_of(recorded, bin_cycles=1))
    coarse = stalls(recorded, window_of(recorded, bin_cycles=64))
    starts = np.arange(0, fine.sizes["cycle"], 64)
    assert np.array_equal(np.add.reduceat(fine.values, starts, axis=0), coarse.values)


def test_a_cycle_is_a_row_of_the_exact_timeline(recorded: Result) -> None:
    for cycle in (0, 1, 1234, recorded.summary["cycles"] - 1):
        exact = stalls(recorded, Window(cycle, cycle + 1, 1)).isel(cycle=0)
        found = stalled_on(recorded, cycle)
        assert found.warp.is_unique
        counts = found.state.value_counts()
        assert {state: int(exact.sel(state=state)) for state in counts.index} == counts.to_dict()
        assert len(found) == int(exact.sum())
        walks = walks_at(recorded, cycle)
        now = timeline(recorded, Window(cycle, cycle + 1, 1)).isel(cycle=0)
        assert (walks.state == "walker").sum() == now.walks_queued
        assert (walks.state == "walk").sum() == now.walks_running


def test_the_cycle_in_which_every_warp_waits_for_one_walk() -> None:
    # Three warps of one SM ask for one page, one a cycle; the walk takes 13 to 513.
    base = 1 << 32
    scripts = [[("load", base + 128 * warp), ("wait",)] for warp in range(3)]
    with simulate(SMALL, [[scripts]]) as result:
        found = stalled_on(result, 100)
        assert found.columns.tolist() == ["sm", "warp", "app", "state", "begin", "end"]
        assert found.values.tolist() == [[0, warp, "app0", "walk", 13, 513] for warp in range(3)]
        (walk,) = walks_at(result, 100).to_dict("records")
        assert walk == {
            "asid": 0,
            "vpn": base // 4096,
            "sm": 0,
            "app": "app0",
            "state": "walk",
            "requested": 13,
            "started": 13,
            "finished": 513,
            "levels": 4,
        }
        assert len(walks_at(result, 512)) == 1
        assert len(walks_at(result, 12)) == len(walks_at(result, 513)) == 0
        assert len(stalled_on(result, 0)) == 0, "the warps are born in cycle 1"


@pytest.mark.long
def test_applications_that_are_started_again(tmp_path: Path) -> None:
    model, workload = gpusim.load_model("tiny"), pair(tmp_path, "until-all-have-run")
    with gpusim.simulate(model, workload, record=["intervals"]) as result:
        first_runs = int(result.applications.warps.sum())
        last = int(result.table("intervals").warp.max())
        assert last >= first_runs
        window = window_of(result)
        assert stalls(result, window, Selection(warp=last)).sum() > 0
        with pytest.raises(UserError, match=f"no warp {last + 1}; allowed: 0 to {last}"):
            stalls(result, window, Selection(warp=last + 1))
        short, long = result.applications.end
        once = stalls(result, window_of(result, 0, short), Selection(app="short")).sum("cycle")
        assert once.equals(result.stall_sums.sel(app="short", drop=True).sum("sm"))
        assert stalls(result, window_of(result, short, long), Selection(app="short")).sum() > 0
