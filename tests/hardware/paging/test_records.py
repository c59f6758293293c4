"""What is recorded of pages that come on demand adds up to what is counted, and is drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpusim
from gpusim.results.result import Result
from gpusim.views.timelines import timeline, window_of
from gpusim.views.timelines.picture import draw_timeline

RECORDS = ("intervals", "fault_batches", "transfers")


@pytest.fixture(scope="module")
def result() -> Iterator[Result]:
    """A run whose pages are evicted and written back, one array of which stays with the host."""
    overrides = {
        "paging.oversubscription": 2,
        "paging.eviction_block": "4KiB",
        "paging.pinned": ["x"],
    }
    model = gpusim.load_model("tiny", ["demand-paging"], overrides)
    workload = gpusim.load_workload("atax", "smoke", overrides={"n": 128, "iterations": 1})
    with gpusim.simulate(model, workload, record=RECORDS) as made:
        yield made


def counted(result: Result, component: str, counter: str) -> int:
    rows = result.counters
    return int(rows[(rows.component == component) & (rows.counter == counter)].value.sum())


def test_batches(result: Result) -> None:
    batches = result.table("fault_batches")
    assert len(batches) == counted(result, "paging", "batches") > 1
    assert batches.faults.sum() == counted(result, "paging", "faults")
    asked, more = (counted(result, "paging", f"pages_{one}") for one in ("asked", "prefetched"))
    assert batches.asked.sum() == asked + counted(result, "paging", "not_served")
    assert batches.came.sum() == asked + more
    assert batches.left.sum() == counted(result, "paging", "pages_out") > 0
    assert (batches.begin[1:].to_numpy() >= batches.end[:-1].to_numpy()).all(), "one at a time"


@pytest.mark.parametrize("lane", ["device", "host"])
def test_transfers(result: Result, lane: str) -> None:
    rows = result.table("transfers")
    rows = rows[rows.to_host == (lane == "host")]
    assert rows["bytes"].sum() == counted(result, "link", f"bytes_to_{lane}") > 0
    assert (rows.end - rows.begin).sum() == counted(result, "link", f"busy_to_{lane}")
    assert (rows.begin[1:].to_numpy() >= rows.end[:-1].to_numpy()).all(), "one at a time"
    assert (rows.arrived > rows.end).all()


def test_timeline(result: Result) -> None:
    """In bins of any size, the sums are those of the whole run."""
    window = window_of(result, bins=30)
    found = timeline(result, window)
    for lane, name in (("to the device", "device"), ("to the host", "host")):
        busy = (found.link_use.sel(direction=lane) * window.widths).sum()
        assert np.isclose(busy, counted(result, "link", f"busy_to_{name}"))
    batches = result.table("fault_batches")
    served = (found.batch_faults * window.widths).sum()
    assert np.isclose(served, (batches.faults * (batches.end - batches.begin)).sum())
    waited = found.warp_cycles.sel(state="fault").sum()
    assert waited == result.stall_sums.sel(state="fault").sum() > 0
    labels = [axes.get_ylabel() for axes in draw_timeline(result, window).axes]
    assert labels[-2:] == ["fault batches", "link use"]
