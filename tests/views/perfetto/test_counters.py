"""Counters against counting cycle after cycle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gpusim.results import Result
from gpusim.views.perfetto import export
from gpusim.views.perfetto.view import BINS
from tests.views.perfetto.reader import ReadTrace, TrackPath

FIRST, CYCLES = 700, 1500
TRANSLATION = ("walker", "walk", "tlb_L1", "tlb_L2")


@pytest.fixture(scope="module")
def narrow(recorded: Result, tmp_path_factory: pytest.TempPathFactory) -> ReadTrace:
    """A window so narrow that every cycle is a bin."""
    path = tmp_path_factory.mktemp("narrow") / "run.pftrace"
    export(recorded, path, begin=FIRST, end=FIRST + CYCLES)
    assert CYCLES < BINS
    return ReadTrace(path)


def find(trace: ReadTrace, *path: str) -> TrackPath:
    (found,) = [counter for counter in trace.counters if counter[1:] == path]
    return found


def alive(rows: pd.DataFrame, begin: str, end: str) -> np.ndarray:
    """How many rows last each cycle of the window."""
    counts = np.zeros(CYCLES)
    for first, last in zip(rows[begin], rows[end], strict=True):
        counts[max(first - FIRST, 0) : max(last - FIRST, 0)] += 1
    return counts


def values(trace: ReadTrace, *path: str) -> np.ndarray:
    counter = find(trace, *path)
    return np.array([trace.value(counter, FIRST + cycle) for cycle in range(CYCLES)])


def test_warps(recorded: Result, narrow: ReadTrace) -> None:
    rows = recorded.table("intervals")
    names = np.array(recorded.states)[rows.state]
    stalled = alive(rows[np.isin(names, TRANSLATION)], "begin", "end")
    assert stalled.any()
    assert np.array_equal(values(narrow, "GPU", "warps stalled on translation"), stalled)
    resident = alive(rows, "begin", "end")
    assert np.array_equal(values(narrow, "GPU", "resident warps"), resident)
    ready = alive(rows[np.isin(names, ("issuing", "computing", "ready"))], "begin", "end")
    if ready.any():
        assert np.array_equal(values(narrow, "GPU", "warps that issue or could"), ready)
    else:
        assert not [path for path in narrow.counters if path[-1] == "warps that issue or could"]
    assert narrow.units[find(narrow, "GPU", "resident warps")] == "warps"


def test_walks(recorded: Result, narrow: ReadTrace) -> None:
    rows = recorded.table("walks")
    for name, begin, end in (
        ("queued", "requested", "started"),
        ("running", "started", "finished"),
    ):
        expected = alive(rows, begin, end)
        if expected.any():
            assert np.array_equal(values(narrow, "GPU", f"page walks {name}"), expected)
        else:
            assert not [path for path in narrow.counters if path[-1] == f"page walks {name}"]


def test_queues_of_dram(recorded: Result, narrow: ReadTrace) -> None:
    rows = recorded.table("dram")
    busy = 0
    for channel in range(int(rows.channel.max()) + 1):
        expected = alive(rows[rows.channel == channel], "accepted", "issued")
        if expected.any():
            busy += 1
            found = values(narrow, "DRAM", f"queue of channel {channel}")
            assert np.array_equal(found, expected)
    assert busy
    total = alive(rows, "accepted", "issued")
    assert np.array_equal(values(narrow, "DRAM", "requests in DRAM queues"), total)


def test_bandwidth_of_dram(recorded: Result, narrow: ReadTrace) -> None:
    rows = recorded.table("dram")
    rows = rows[(rows.finished >= FIRST) & (rows.finished < FIRST + CYCLES)]
    counters = recorded.counters.query("component == 'dram'").groupby("counter").value.sum()
    line = counters["data_read_bytes"] // counters["data_reads"]
    for traffic, chosen in (("translation", rows.depth > 0), ("data", rows.depth == 0)):
        name = f"bytes moved by DRAM: {traffic}"
        if chosen.any():
            assert values(narrow, "DRAM", name).sum() == line * chosen.sum()
            assert narrow.units[find(narrow, "DRAM", name)] == "B/cycle"


def test_coarse_bins_keep_the_mean(recorded: Result, trace: ReadTrace) -> None:
    counter = find(trace, "GPU", "resident warps")
    cycles = recorded.summary["cycles"]
    steps = trace.counters[counter]
    assert len(steps) <= BINS
    ends = [cycle for cycle, _ in steps[1:]] + [cycles]
    total = sum(value * (end - cycle) for (cycle, value), end in zip(steps, ends, strict=True))
    assert total == pytest.approx(recorded.summary["warp_cycles"])
