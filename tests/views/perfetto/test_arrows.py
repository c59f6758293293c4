"""Arrows lead from warps to the page walks that they waited for."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pandas as pd

from gpusim.results import Result, follow
from gpusim.views.perfetto import export
from gpusim.views.perfetto.arrows import _joined
from tests.views.perfetto.reader import ReadTrace, Slice
from tests.views.perfetto.scripted import LOAD, PAGE, simulate

LINES_OF_A_PAGE = 4096 // 128
"""Of the models of `recorded`."""


def arrows(trace: ReadTrace) -> list[tuple[Slice, Slice]]:
    """Warps' slices, and those of the walks that they are joined with."""
    found = []
    for flow in trace.flows.values():
        warp, walk = sorted(flow, key=lambda one: one.track[1] == "walkers")
        assert warp.track[1].startswith("SM ")
        assert walk.track[1] == "walkers"
        found.append((warp, walk))
    return found


def test_arrows_are_those_that_the_transactions_tell(recorded: Result, trace: ReadTrace) -> None:
    """Interval after interval, by the stages of the transactions of its warp, one after another."""
    states = [recorded.states.index(name) for name in ("walker", "walk")]
    requests, walks = recorded.table("requests"), recorded.table("walks")
    stages: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    table = recorded.table("stages")
    for row in table[table.state.isin(states)].itertuples():
        stages[requests.warp[row.request], row.state, row.end].append((row.request, row.begin))
    expected, unsure = set(), 0
    intervals = recorded.table("intervals")
    for interval in intervals[intervals.state.isin(states)].itertuples():
        candidates = {
            _walk(walks, requests.vline[request] // LINES_OF_A_PAGE, begin, interval.end)
            for request, begin in stages[interval.warp, interval.state, interval.end]
            if begin <= interval.begin
        }
        assert candidates, "every such wait is that of a transaction"
        unsure += len(candidates) > 1
        if len(candidates) == 1:
            walk = walks.loc[candidates.pop()]
            state = recorded.states[interval.state]
            expected.add(
                (
                    interval.warp,
                    state,
                    interval.begin,
                    interval.end,
                    walk.vpn,
                    walk.requested,
                    walk.finished,
                )
            )
    assert expected
    assert unsure < len(expected) / 20
    found = [
        (
            int(warp.track[2].split()[1]),
            warp.name,
            warp.begin,
            warp.end,
            walk.arguments["vpn"],
            walk.begin,
            walk.end,
        )
        for warp, walk in arrows(trace)
    ]
    assert len(found) == len(set(found))
    assert set(found) == expected


def _walk(walks: pd.DataFrame, vpn: int, begin: int, end: int) -> int:
    """The walk of a page that was under way between two cycles."""
    found = walks[(walks.vpn == vpn) & (walks.requested < end) & (walks.finished > begin)]
    assert len(found) == 1
    return int(found.index[0])


def test_all_who_wait_for_one_walk_are_joined_with_it(tmp_path: Path) -> None:
    blocks = (
        [LOAD, (("compute", 5), *LOAD)],
        [LOAD, (("load", 7 * PAGE), ("wait",))],
    )
    with simulate(*blocks) as result:
        export(result, tmp_path / "run.pftrace")
        intervals = result.table("intervals")
        waits = intervals[intervals.state == result.states.index("walk")]
        assert waits.sm.nunique() == 2
    found = arrows(ReadTrace(tmp_path / "run.pftrace"))
    assert {one.track[2] for one, _ in found} == {
        f"warp {row.warp} (slot {row.slot}, scripted)" for row in waits.itertuples()
    }
    vpns = {one.track[2].split(" (")[0]: walk.arguments["vpn"] for one, walk in found}
    assert vpns == {"warp 0": 0, "warp 1": 0, "warp 2": 0, "warp 3": 7}
    assert len({id(walk) for _, walk in found}) == 2, "three warps of two SMs share a walk"


def test_arrows_are_those_of_single_lives(tmp_path: Path) -> None:
    with simulate([LOAD]) as result:
        export(result, tmp_path / "run.pftrace")
        life = follow(result, 0)
    ((warp, walk),) = arrows(ReadTrace(tmp_path / "run.pftrace"))
    assert life.walk is not None
    assert (walk.begin, walk.end) == (life.walk.requested, life.walk.finished)
    (stage,) = life.stages[life.stages.stage == "walk"].itertuples()
    assert (warp.begin, warp.end) == (stage.begin, stage.end)


def test_a_part_has_the_arrows_between_what_is_in_it(tmp_path: Path) -> None:
    with simulate([LOAD]) as result:
        walk = result.table("walks").iloc[0]
        for begin, end, count in (
            (0, walk.started, 0),
            (walk.started, walk.started + 1, 1),
            (walk.finished, None, 0),
        ):
            export(result, tmp_path / "part.pftrace", begin=begin, end=end)
            assert len(arrows(ReadTrace(tmp_path / "part.pftrace"))) == count
        export(result, tmp_path / "part.pftrace", sms=[1])
        part = ReadTrace(tmp_path / "part.pftrace")
        assert not part.flows
        assert part.below("walkers"), "walks are of the whole GPU"


def test_without_requests_there_are_no_arrows(tmp_path: Path) -> None:
    with simulate([LOAD], record=["intervals", "walks"]) as result:
        export(result, tmp_path / "run.pftrace")
    trace = ReadTrace(tmp_path / "run.pftrace")
    assert [one.name for one in trace.below("walkers")] == ["vpn 0x0", "running"]
    assert not trace.flows


WAIT = {"interval": 5, "warp": 1, "state": 14, "begin": 110, "end": 200}
STAGE = {"warp": 1, "asid": 3, "vpn": 8, "state": 14, "since": 100, "end": 200}
WALK = {"walk": 2, "asid": 3, "vpn": 8, "requested": 90, "finished": 195}


def joined(stage: dict[str, int], *walks: dict[str, int]) -> list[tuple[int, int]]:
    frames = ([STAGE | stage], [WAIT], [WALK | walk for walk in walks])
    found = _joined(*(pd.DataFrame(rows) for rows in frames))
    return list(found.itertuples(index=False, name=None))


def test_what_joins() -> None:
    assert joined({}, {}) == [(5, 2)]
    assert joined({"since": 110}, {}) == [(5, 2)]
    earlier = {"walk": 1, "requested": 10, "finished": 60}
    assert joined({}, earlier, {}) == [(5, 2)], "the walk of the time, not an earlier one"


def test_what_does_not_join() -> None:
    assert joined({"since": 111}, {}) == [], "the stage began in the middle of the wait"
    assert joined({"end": 199}, {}) == [], "or did not end with it"
    for other in ({"warp": 2}, {"state": 13}, {"vpn": 9}, {"asid": 4}):
        assert joined(other, {}) == []
    assert joined({}, {"requested": 200}) == [], "the walk began too late"
    assert joined({}, {"finished": 100}) == [], "or ended too early"
