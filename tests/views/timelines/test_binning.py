"""Bins hold what counting cycle by cycle finds, whatever the intervals, bins, chunks, warps."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.views.timelines import Selection, Window, events, stalls, timeline
from tests.examples import examples
from tests.views.timelines.made import (
    APPS,
    SMS,
    STATES,
    WARPS,
    Rows,
    by_bin,
    made,
    selections,
    spans,
    windows,
)

intervals = st.lists(
    st.builds(
        lambda sm, warp, app, state, span: (sm, warp, 0, app, state, *span),
        st.integers(0, SMS - 1),
        st.integers(0, WARPS - 1),
        st.integers(0, len(APPS) - 1),
        st.integers(0, len(STATES) - 1),
        spans(1),
    ),
    max_size=25,
)


def belongs(selection: Selection, sm: int, warp: int, app: int) -> bool:
    return (
        selection.sm in (None, sm)
        and selection.warp in (None, warp)
        and selection.app in (None, APPS[app])
    )


@settings(max_examples=examples(100))
@given(intervals, windows(), selections, st.integers(1, 30))
def test_stalls_are_what_each_cycle_has(
    rows: Rows, window: Window, selection: Selection, chunk: int
) -> None:
    def states(cycle: int) -> Counter[int]:
        return Counter(
            state
            for sm, warp, _, app, state, begin, end in rows
            if begin <= cycle < end and belongs(selection, sm, warp, app)
        )

    with made(intervals=rows) as result, mock.patch.object(events, "ROWS", chunk):
        found = stalls(result, window, selection)
        whole = timeline(result, window, selection)
    expected = by_bin(window, states, len(STATES))
    assert found.dtype == np.int64
    assert np.array_equal(found.values, expected)
    assert found.dims == ("cycle", "state")
    assert found.cycle.values.tolist() == list(range(window.begin, window.end, window.bin_cycles))
    assert found.state.values.tolist() == list(STATES)
    assert found.bin_cycles == window.bin_cycles
    assert whole.warp_cycles.identical(found)
    assert np.array_equal(whole.resident_warps, expected.sum(axis=1) / window.widths)
    assert np.array_equal(whole.ready_warps, expected[:, :3].sum(axis=1) / window.widths)


@given(windows())
def test_bins_tile_the_window(window: Window) -> None:
    assert len(window.edges) == window.bins + 1
    assert (window.edges[0], window.edges[-1]) == (window.begin, window.end)
    assert set(window.widths[:-1]) <= {window.bin_cycles}
    assert 1 <= window.widths[-1] <= window.bin_cycles


def test_sums_are_exact_beyond_the_precision_of_floats() -> None:
    rows = [(0, 0, 0, 0, 3, 7, 10**16)] * 1000
    with made(intervals=rows) as result:
        (one,) = stalls(result, Window(0, 10**15, 10**15)).sel(state="lsu").values
        many = stalls(result, Window(0, 10**15, 10**9 + 3)).sel(state="lsu").values
    assert one == many.sum() == 1000 * (10**15 - 7) > 2**53
    assert many[0] == 1000 * (10**9 + 3 - 7)
