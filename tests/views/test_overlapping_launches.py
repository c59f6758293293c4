"""Every record and view of a run in which launches overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim
from gpusim.results import Result
from gpusim.results.event_tables import RECORDS
from gpusim.views.explore.pack import pack
from gpusim.views.perfetto import export
from gpusim.views.report.build import html_report
from gpusim.views.report.launches import launch_table
from gpusim.views.timelines.picture import launch_panel
from gpusim.views.timelines.window import ALL_WARPS, Window
from tests.programs.test_launch_streams import two_streams
from tests.views.perfetto.reader import ReadTrace
from tests.whole.running import run


@pytest.fixture(scope="module")
def result() -> Result:
    return gpusim.simulate("tiny", two_streams, record=tuple(RECORDS))


def test_records_change_nothing_and_tile_the_lives_of_warps(result: Result) -> None:
    assert result.digest == gpusim.simulate("tiny", two_streams).digest
    intervals = result.table("intervals")
    assert (intervals.end - intervals.begin).sum() == result.summary["warp_cycles"]
    for _, life in intervals.sort_values("begin").groupby("warp"):
        assert (life.begin.to_numpy()[1:] == life.end.to_numpy()[:-1]).all()
    first = intervals.groupby("warp").begin.min().sort_values()
    launches = result.launches.sort_values("launch")
    assert first.tolist()[0] > launches.begin[0]
    assert first.tolist()[1] < launches.end[0], "the second launch has begun beside the first"


def test_each_stream_has_a_track_in_perfetto(result: Result, tmp_path: Path) -> None:
    export(result, tmp_path / "t.pftrace")
    kernels = [one for one in ReadTrace(tmp_path / "t.pftrace").slices if one.category == "kernel"]
    found = sorted((one.track[-1], one.begin, one.end) for one in kernels)
    app = result.applications.name[0]
    assert found == sorted(
        (f"{app}, stream {one.stream}", one.begin, one.end) for one in result.launches.itertuples()
    )


def test_each_stream_has_a_row_in_timelines(result: Result) -> None:
    window = Window(0, int(result.summary["cycles"]), 10)
    (three,) = launch_panel(result, window, ALL_WARPS)
    (one,) = launch_panel(run("tiny", "atax", parameters={"n": 32}), window, ALL_WARPS)
    assert three.height == pytest.approx(3 * one.height)


@pytest.mark.long
def test_the_report_tells_streams_only_where_launches_overlap(result: Result) -> None:
    assert {"stream", "overlaps with"} < set(launch_table(result).numbers)
    assert "overlaps with" in html_report(result)
    assert "stream" not in launch_table(run("tiny", "atax", parameters={"n": 32})).numbers


def test_the_explorer_has_all_launches(result: Result) -> None:
    launches = pack(result).facts["launches"]
    assert [one["launch"] for one in launches] == [0, 1, 2, 3]
