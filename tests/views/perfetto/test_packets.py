"""Slices that touch, lanes, and names that are written once."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpusim.views.perfetto.packets import _FLUSH_BYTES, TraceWriter
from gpusim.views.perfetto.walks import Lanes
from tests.views.perfetto.reader import ReadTrace

Spans = list[tuple[int, int]]


def read(stream: io.BytesIO, folder: Path) -> ReadTrace:
    path = folder / "made.pftrace"
    path.write_bytes(stream.getvalue())
    return ReadTrace(path)


def test_slices_that_touch_stay_apart(tmp_path: Path) -> None:
    stream = io.BytesIO()
    writer = TraceWriter(stream)
    root = writer.track("root")
    tracks = [writer.track(name, root) for name in "ab"]
    labels = [writer.label(name, "kind") for name in ("x", "y")]
    # Two tracks, written in the order of their ends.
    for number, begin, end in ((0, 0, 1), (1, 0, 2), (0, 1, 3), (1, 2, 3), (0, 3, 4)):
        writer.slice(tracks[number], labels[begin % 2], begin, end)
    writer.flush()
    trace = read(stream, tmp_path)
    assert [(one.track[-1], one.begin, one.end, one.name) for one in trace.slices] == [
        ("a", 0, 1, "x"),
        ("b", 0, 2, "x"),
        ("a", 1, 3, "y"),
        ("b", 2, 3, "x"),
        ("a", 3, 4, "y"),
    ]
    assert all(one.parent is None for one in trace.slices)
    assert writer.packets == trace.packets == 1 + 3 + 3 + 2 * 5


def test_texts_are_written_once(tmp_path: Path) -> None:
    stream = io.BytesIO()
    writer = TraceWriter(stream)
    track = writer.track("track")
    before = writer.packets
    labels = {writer.label("name", "category") for _ in range(9)}
    assert len(labels) == 1
    assert writer.packets == before + 2
    for cycle in range(3):
        writer.open(track, "walk", "category", cycle, {"vpn": cycle - 1, "app": "é"})
        writer.close(track, cycle + 1)
    writer.flush()
    trace = read(stream, tmp_path)
    assert [one.arguments for one in trace.slices] == [
        {"vpn": cycle - 1, "app": "é"} for cycle in range(3)
    ]


def test_a_flow_belongs_to_one_slice_only(tmp_path: Path) -> None:
    stream = io.BytesIO()
    writer = TraceWriter(stream)
    track, label = writer.track("track"), writer.label("name", "category")
    for cycle, flow in enumerate((0, 1 << 40, 0)):
        writer.slice(track, label, cycle, cycle + 1, flow)
    writer.flush()
    assert [one.flows for one in read(stream, tmp_path).slices] == [[], [1 << 40], []]


def test_much_is_handed_on_before_the_end() -> None:
    stream = io.BytesIO()
    writer = TraceWriter(stream)
    track, label = writer.track("track"), writer.label("name", "category")
    for cycle in range(50_000):
        writer.slice(track, label, cycle, cycle + 1)
    held = stream.tell()
    writer.flush()
    assert 0 < stream.tell() - held <= _FLUSH_BYTES < held


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=40).map(
    lambda found: sorted(
        ((begin, begin + cycles) for begin, cycles in found), key=lambda one: one[1]
    )
)


@given(spans)
def test_lanes_never_overlap_and_are_as_few_as_possible(found: Spans) -> None:
    lanes = Lanes()
    taken = [lanes.take(begin, end) for begin, end in found]
    for one, (begin, _) in enumerate(found):
        for other in range(one):
            if taken[one] == taken[other]:
                assert found[other][1] <= begin
    most = max(
        Counter(cycle for begin, end in found for cycle in range(begin, end)).values(), default=0
    )
    assert set(taken) == set(range(most))
