"""Every interval, page walk and kernel launch is in the trace exactly once, where it belongs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import gpusim
from gpusim.core.states import family, state_names
from gpusim.results import Result
from gpusim.views.perfetto import export
from tests.quick import quick
from tests.views.perfetto.reader import ReadTrace, Slice
from tests.whole.test_relaunch import pair

SM_TRACKS = "SM "
WINDOWS = quick([(None, 9000), (4000, None), (5000, 7001)], (5000, 7001))


def plain(slices: list[Slice]) -> Counter[tuple[str, str, int, int | None]]:
    return Counter((one.track[-1], one.name, one.begin, one.end) for one in slices)


def of_warps(trace: ReadTrace) -> list[Slice]:
    return [one for one in trace.slices if one.track[1].startswith(SM_TRACKS)]


def test_every_interval_is_on_the_track_of_its_warp(recorded: Result, trace: ReadTrace) -> None:
    apps, rows = recorded.applications.name, recorded.table("intervals").itertuples()
    expected = Counter(
        (
            f"SM {row.sm}",
            f"warp {row.warp} (slot {row.slot}, {apps[row.app]})",
            recorded.states[row.state],
            row.begin,
            row.end,
        )
        for row in rows
    )
    found = of_warps(trace)
    assert expected == Counter(
        (one.track[1], one.track[2], one.name, one.begin, one.end) for one in found
    )
    assert all(one.parent is None for one in found), "one after the other, not nested"
    for one in found:
        assert one.category == family(recorded.states.index(one.name))


def test_families() -> None:
    names = state_names(("L1", "L2"))
    of: dict[str, list[str]] = {}
    for state, name in enumerate(names):
        of.setdefault(family(state), []).append(name)
    assert of == {
        "working": ["issuing", "computing", "ready"],
        "sm": ["lsu", "barrier", "shared", "credit", "mshr"],
        "memory": ["cache", "interconnect", "l2", "dram_queue", "dram"],
        "translation": ["walker", "walk", "tlb_L1", "tlb_L2"],
    }


def test_warps_stand_in_order_under_their_sm(recorded: Result, trace: ReadTrace) -> None:
    intervals = recorded.table("intervals")
    for sm, rows in intervals.groupby("sm"):
        tracks = [path[2] for path in trace.tracks if len(path) == 3 and path[1] == f"SM {sm}"]
        assert [int(name.split()[1]) for name in tracks] == sorted(rows.warp.unique())


def test_a_walk_is_queued_and_then_runs(recorded: Result, trace: ReadTrace) -> None:
    apps = recorded.applications.name
    slices = trace.below("walkers")
    assert {one.category for one in slices} == {"translation"}
    whole = [one for one in slices if one.parent is None]
    walks = recorded.table("walks")
    assert Counter((one.name, one.begin, one.end) for one in whole) == Counter(
        (f"vpn {row.vpn:#x}", row.requested, row.finished) for row in walks.itertuples()
    )
    key = ["vpn", "asid", "app", "sm", "levels"]
    assert Counter(tuple(one.arguments[name] for name in key) for one in whole) == Counter(
        (row.vpn, row.asid, apps[row.app], row.sm, row.levels) for row in walks.itertuples()
    )
    parts = [one for one in slices if one.parent is not None]
    assert all(one.parent in whole for one in parts[:200]), "nested in the walk, not deeper"
    found = Counter((one.parent.name, one.name, one.begin, one.end) for one in parts)  # type: ignore[union-attr]
    expected = Counter(
        (f"vpn {row.vpn:#x}", name, begin, end)
        for row in walks.itertuples()
        for name, begin, end in (
            ("queued", row.requested, row.started),
            ("running", row.started, row.finished),
        )
        if begin < end
    )
    assert found == expected


def test_as_few_lanes_as_there_are_walks_at_a_time(recorded: Result, trace: ReadTrace) -> None:
    walks = recorded.table("walks")
    steps = Counter(walks.requested.tolist())
    steps.subtract(Counter(walks.finished.tolist()))
    most = now = 0
    for cycle in sorted(steps):
        now += steps[cycle]
        most = max(most, now)
    lanes = [path for path in trace.tracks if len(path) == 3 and path[1] == "walkers"]
    assert [path[2] for path in lanes] == [f"lane {number}" for number in range(most)]


def test_launches(recorded: Result, trace: ReadTrace) -> None:
    expected = [
        (row.app, row.kernel, row.begin, row.end, {"launch": row.launch, "blocks": row.blocks})
        for row in recorded.launches.itertuples()
    ]
    assert expected == [
        (one.track[2], one.name, one.begin, one.end, one.arguments)
        for one in trace.below("kernels")
    ]


@pytest.mark.parametrize(("begin", "end"), WINDOWS)
def test_a_window_cuts_off_what_is_outside(
    recorded: Result, trace: ReadTrace, tmp_path: Path, begin: int | None, end: int | None
) -> None:
    path = tmp_path / "part.pftrace"
    export(recorded, path, begin=begin, end=end)
    part = ReadTrace(path)
    first, last = begin or 0, end or recorded.summary["cycles"]

    def cut(slices: list[Slice]) -> Counter[tuple[object, ...]]:
        spans = [(max(one.begin, first), min(one.end or 0, last), one) for one in slices]
        return Counter((one.name, start, stop) for start, stop, one in spans if start < stop)

    for top in ("kernels", "walkers"):
        assert cut(part.below(top)) == plain_spans(part.below(top)) == cut(trace.below(top))
    assert cut(of_warps(part)) == plain_spans(of_warps(part)) == cut(of_warps(trace))
    assert all(first <= cycle < last for values in part.counters.values() for cycle, _ in values), (
        "counters are of the window only"
    )


def plain_spans(slices: list[Slice]) -> Counter[tuple[object, ...]]:
    return Counter((one.name, one.begin, one.end) for one in slices)


def test_some_sms(recorded: Result, trace: ReadTrace, tmp_path: Path) -> None:
    wanted = [0] if recorded.stall_sums.sizes["sm"] < 4 else [3, 1, 3]
    path = tmp_path / "some.pftrace"
    export(recorded, path, sms=iter(wanted))
    some = ReadTrace(path)
    names = [f"SM {sm}" for sm in sorted(set(wanted))]
    tops = [track[1] for track in some.tracks if len(track) == 2]
    assert [name for name in tops if name.startswith(SM_TRACKS)] == names
    chosen = [one for one in of_warps(trace) if one.track[1] in names]
    assert plain(of_warps(some)) == plain(chosen)
    for top in ("walkers", "kernels"):
        assert plain(some.below(top)) == plain(trace.below(top)), "of the whole GPU"
    assert some.counters == trace.counters


@pytest.mark.long
def test_applications_that_share_the_gpu(tmp_path: Path) -> None:
    model = gpusim.load_model("tiny")
    workload = pair(tmp_path, "until-all-have-run")
    with gpusim.simulate(model, workload, record=["intervals"]) as result:
        export(result, tmp_path / "pair.pftrace")
        trace = ReadTrace(tmp_path / "pair.pftrace")
        intervals = result.table("intervals")
        apps, cycles = result.applications.name, result.summary["cycles"]
    named = Counter(one.track[2].rpartition(", ")[2].rstrip(")") for one in of_warps(trace))
    seen = intervals[intervals.begin < cycles]
    assert named == Counter(apps[app] for app in seen.app)
    kernels = [path[2] for path in trace.tracks if len(path) == 3 and path[1] == "kernels"]
    assert kernels == list(apps) == ["short", "long"]
    assert not trace.below("walkers"), "walks were not recorded"
    assert not trace.flows
