"""Activity in each bin is what counting cycle by cycle finds."""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.views.timelines import Selection, Window, activity, events
from tests.examples import examples
from tests.views.timelines.made import (
    APPS,
    CYCLES,
    LINE_BYTES,
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

few = settings(max_examples=examples(50))

sms = st.integers(-1, SMS - 1)
apps = st.integers(0, len(APPS) - 1)
chunks = st.integers(1, 30)
three_cycles = st.lists(st.integers(0, CYCLES + 20), min_size=3, max_size=3).map(sorted)

walks = st.lists(
    st.builds(lambda sm, app, when: (10 + app, 5, sm, app, *when, 4), sms, apps, three_cycles),
    max_size=20,
)
dram_requests = st.lists(
    st.builds(
        lambda kind, app, depth, when: (0, 0, 0, kind, app, depth if kind == 4 else 0, *when),
        st.sampled_from([0, 1, 4, 5]),
        apps,
        st.integers(1, 4),
        three_cycles,
    ),
    max_size=20,
)
lookups = st.lists(
    st.builds(
        lambda level, app, hit, cycle: (level, 0, 10 + app, 9, hit, cycle),
        st.integers(0, 1),
        apps,
        st.integers(0, 1),
        st.integers(0, CYCLES + 5),
    ),
    max_size=40,
)
requests = st.lists(
    st.tuples(
        apps,
        sms,
        st.integers(-1, WARPS - 1),
        st.lists(st.tuples(st.integers(0, len(STATES) - 1), spans(1)), min_size=1, max_size=4),
    ),
    max_size=12,
)


def per_cycle(sums: np.ndarray, window: Window) -> np.ndarray:
    return sums / window.widths[:, np.newaxis]


@few
@given(walks, windows(), st.integers(0, SMS - 1) | st.none(), chunks)
def test_walks(rows: Rows, window: Window, sm: int | None, chunk: int) -> None:
    with made(walks=rows) as result, mock.patch.object(events, "ROWS", chunk):
        found = activity(result, window, Selection(sm=sm))

    def under_way(cycle: int) -> Counter[int]:
        return Counter(
            int(started <= cycle)
            for _, _, of, _, requested, started, finished, _ in rows
            if requested <= cycle < finished and sm in (None, of)
        )

    expected = per_cycle(by_bin(window, under_way, 2), window)
    assert np.array_equal(found.walks_queued, expected[:, 0])
    assert np.array_equal(found.walks_running, expected[:, 1])
    assert set(found) == {"walks_queued", "walks_running"}


@few
@given(dram_requests, windows(), st.sampled_from(APPS) | st.none(), chunks)
def test_dram(rows: Rows, window: Window, app: str | None, chunk: int) -> None:
    with made(dram=rows) as result, mock.patch.object(events, "ROWS", chunk):
        found = activity(result, window, Selection(app=app))
    chosen = [row for row in rows if app in (None, APPS[row[4]])]

    def moved(cycle: int) -> Counter[int]:
        ended = Counter(int(depth == 0) for *_, depth, _, _, end in chosen if end == cycle)
        return Counter({group: number * LINE_BYTES for group, number in ended.items()})

    def waiting(cycle: int) -> dict[int, int]:
        return {0: sum(accepted <= cycle < issued for *_, accepted, issued, _ in chosen)}

    assert found["traffic"].values.tolist() == ["translation", "data"]
    assert np.array_equal(found.dram_bytes, per_cycle(by_bin(window, moved, 2), window))
    assert np.array_equal(found.dram_queue, per_cycle(by_bin(window, waiting, 1), window)[:, 0])
    assert found.dram_bytes.units == "B/cycle"


@few
@given(lookups, windows(), st.sampled_from(APPS) | st.none(), chunks)
def test_tlb_lookups(rows: Rows, window: Window, app: str | None, chunk: int) -> None:
    with made(tlb=rows) as result, mock.patch.object(events, "ROWS", chunk):
        found = activity(result, window, Selection(app=app))
    chosen = [row for row in rows if app in (None, APPS[row[2] - 10])]
    asked = by_bin(window, lambda now: Counter(one[0] for one in chosen if one[5] == now), 2)
    hits = by_bin(window, lambda now: Counter(one[0] for one in chosen if one[4:] == (1, now)), 2)
    assert found.level.values.tolist() == ["L1", "L2"]
    assert np.array_equal(found.tlb_lookups, per_cycle(asked, window))
    rate = [
        [h / a if a else np.nan for h, a in zip(*row, strict=True)]
        for row in zip(hits, asked, strict=True)
    ]
    assert np.array_equal(found.tlb_hit_rate, rate, equal_nan=True)


@few
@given(requests, windows(), selections, chunks)
def test_outstanding_transactions(
    drawn: list, window: Window, selection: Selection, chunk: int
) -> None:
    rows: list[tuple[int, ...]] = []
    stages: list[tuple[int, ...]] = []
    chosen: list[tuple[int, ...]] = []
    for number, (app, sm, warp, pieces) in enumerate(drawn):
        rows.append((app, sm, warp, 0, 0, 0, 1, len(stages)))
        own = [(number, state, begin, end) for state, (begin, end) in pieces]
        stages += own
        if (
            selection.sm in (None, sm)
            and selection.warp in (None, warp)
            and selection.app in (None, APPS[app])
        ):
            chosen += own

    def where(cycle: int) -> Counter[int]:
        return Counter(state for _, state, begin, end in chosen if begin <= cycle < end)

    with made(requests=rows, stages=stages) as result, mock.patch.object(events, "ROWS", chunk):
        found = activity(result, window, selection)
    expected = per_cycle(by_bin(window, where, len(STATES)), window)
    assert found.outstanding.dims == ("cycle", "state")
    assert np.array_equal(found.outstanding, expected)


batches = st.lists(
    st.builds(
        lambda span, faults, came: (*span, faults, faults, came, 0),
        spans(),
        st.integers(1, 256),
        st.integers(0, 600),
    ),
    max_size=8,
)
transfers = st.lists(
    st.builds(
        lambda app, to_host, span: (app, to_host, 4096, *span, span[1] + 3),
        apps,
        st.integers(0, 1),
        spans(),
    ),
    max_size=15,
)


@few
@given(batches, transfers, windows(), st.sampled_from(APPS) | st.none(), chunks)
def test_paging(served: Rows, moved: Rows, window: Window, app: str | None, chunk: int) -> None:
    tables = made(fault_batches=served, transfers=moved)
    with tables as result, mock.patch.object(events, "ROWS", chunk):
        found = activity(result, window, Selection(app=app))

    def of_batches(cycle: int) -> dict[int, int]:
        now = [row for row in served if row[0] <= cycle < row[1]]
        return {0: sum(row[2] for row in now), 1: sum(row[4] for row in now)}

    def busy(cycle: int) -> Counter[int]:
        mine = (row for row in moved if app in (None, APPS[row[0]]))
        return Counter(row[1] for row in mine if row[3] <= cycle < row[4])

    assert found.direction.values.tolist() == ["to the device", "to the host"]
    assert np.array_equal(found.link_use, per_cycle(by_bin(window, busy, 2), window))
    expected = per_cycle(by_bin(window, of_batches, 2), window)
    if app is None:
        assert np.array_equal(found.batch_faults, expected[:, 0])
        assert np.array_equal(found.batch_pages, expected[:, 1])
    assert ("batch_faults" in found) == (app is None), "they know no application"


def test_what_events_do_not_know_is_left_out() -> None:
    everything = made(intervals=[], walks=[], dram=[], requests=[], stages=[], tlb=[])
    warps = {"resident_warps", "ready_warps", "outstanding"}
    of_walks, of_dram = {"walks_running", "walks_queued"}, {"dram_bytes", "dram_queue"}
    of_tlb = {"tlb_lookups", "tlb_hit_rate"}
    window = Window(0, CYCLES, 10)
    with everything as result:
        for selection, expected in (
            (Selection(), warps | of_walks | of_dram | of_tlb),
            (Selection(app="long"), warps | of_walks | of_dram | of_tlb),
            (Selection(sm=1), warps | of_walks),
            (Selection(sm=1, app="long"), warps | of_walks),
            (Selection(warp=1), warps),
        ):
            found = activity(result, window, selection)
            assert set(found) == expected
            assert all({"units", "long_name"} <= found[name].attrs.keys() for name in found)
            assert all(not found[name].fillna(0).any() for name in found)
    with made(dram=[]) as result, pytest.raises(UserError, match=r"record = intervals.*were: dram"):
        activity(result, window, Selection(sm=1))
