"""Pictures of timelines: what is drawn is what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.states import State
from gpusim.results import RECORDS, Result
from gpusim.views.plots import STATE_COLOURS, PlotFigure, save
from gpusim.views.timelines import (
    Selection,
    Window,
    picture,
    stalled_on,
    timeline,
    walk_waits,
    warp_picture,
    window_of,
)
from gpusim.views.timelines.picture import _stack, draw_timeline
from gpusim.views.timelines.warp_picture import draw_warps
from tests.views.timelines.made import made

MEMORY_PANELS = ["page walks", "transactions", "DRAM traffic", "DRAM queue", "TLB hit rate"]


@pytest.fixture(scope="module")
def run() -> Iterator[Result]:
    """Two kernels, a block on each of two SMs, all recorded."""
    sizes = {"n": 512, "iterations": 2}
    work = gpusim.load_workload("atax", "smoke", overrides=sizes)
    with gpusim.simulate(gpusim.load_model("tiny"), work, record=list(RECORDS)) as result:
        yield result


def labels(figure: PlotFigure) -> list[str]:
    return [axes.get_ylabel().split("\n")[0] for axes in figure.axes]


def panel(figure: PlotFigure, label: str) -> Axes:
    return figure.axes[labels(figure).index(label)]


def heights(axes: Axes) -> dict[str, np.ndarray]:
    """Heights of the parts of a stack in each bin, from below."""
    tops = {
        str(patch.get_label()): np.asarray(patch.get_data().values)
        for patch in axes.get_children()
        if isinstance(patch, StepPatch)
    }
    below = [np.zeros_like(next(iter(tops.values()))), *tops.values()]
    return {name: top - under for (name, top), under in zip(tops.items(), below, strict=False)}


def line(axes: Axes, label: str) -> np.ndarray:
    return next(np.asarray(one.get_ydata()) for one in axes.lines if one.get_label() == label)


def bars(axes: Axes) -> dict[str, np.ndarray]:
    """For each state ``(bars, 3)``: row, begin and end."""
    found = {}
    for one in axes.collections:
        if isinstance(one, PolyCollection) and not str(one.get_label()).startswith("_"):
            corners = np.array([path.vertices[:4] for path in one.get_paths()])
            rows = corners[:, (0, 2), 1].mean(axis=1)
            columns = [rows, corners[:, 0, 0], corners[:, 1, 0]]
            found[str(one.get_label())] = np.stack(columns, axis=1)
            colour = to_hex(one.get_facecolor()[0]).upper()
            assert STATE_COLOURS.get(str(one.get_label()), colour) == colour
    return found


def intervals(*stays: tuple[int, State, int, int]) -> Sequence[tuple[int, ...]]:
    """Rows of the table: warp, state, begin, end."""
    return [(warp % 3, warp, 0, 0, state, begin, end) for warp, state, begin, end in stays]


# -- panels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "selection"),
    [((None, None), Selection()), ((700, 1500), Selection(sm=1)), ((500, 600), Selection(warp=1))],
)
def test_the_stack_is_the_resident_warps(
    run: Result, window: tuple[int, int], selection: Selection
) -> None:
    shown = window_of(run, *window)
    found = timeline(run, shown, selection)
    stack = heights(panel(draw_timeline(run, shown, selection), "warps by state"))
    np.testing.assert_allclose(sum(stack.values()), found.resident_warps, atol=1e-9)
    for state in stack.keys() - {"other"}:
        expected = found.warp_cycles.sel(state=state) / shown.widths
        np.testing.assert_allclose(stack[state], expected, atol=1e-9)


def test_lines_are_the_activity(run: Result) -> None:
    shown = window_of(run)
    found, figure = timeline(run, shown), draw_timeline(run, shown)
    for label, name, variable in (
        ("warps", "resident", found.resident_warps),
        ("warps", "ready", found.ready_warps),
        ("page walks", "running", found.walks_running),
        ("page walks", "queued", found.walks_queued),
        ("TLB hit rate", "L1", found.tlb_hit_rate.sel(level="L1")),
    ):
        np.testing.assert_array_equal(line(panel(figure, label), name)[:-1], variable)
    waits = found.state.to_numpy()[State.WALKER :]
    transactions = heights(panel(figure, "transactions"))
    translated = found.outstanding.sel(state=waits).sum("state")
    np.testing.assert_allclose(transactions["translation"], translated, atol=1e-9)
    total = found.outstanding.sum("state")
    np.testing.assert_allclose(sum(transactions.values()), total, atol=1e-9)
    traffic = heights(panel(figure, "DRAM traffic"))
    np.testing.assert_allclose(sum(traffic.values()), found.dram_bytes.sum("traffic"), atol=1e-9)


def test_all_panels_share_the_cycles(run: Result) -> None:
    figure = draw_timeline(run, window_of(run, 300, 900))
    assert labels(figure) == ["", "warps by state", "warps", *MEMORY_PANELS]
    assert {axes.get_xlim() for axes in figure.axes} == {(300, 900)}
    assert [axes.get_xlabel() for axes in figure.axes] == [""] * 7 + ["cycle"]
    assert figure.get_size_inches()[0] * 150 == 1050


def test_only_what_was_recorded_has_a_panel() -> None:
    ready = intervals((0, State.READY, 0, 50))
    with made(intervals=ready) as result:
        figure = draw_timeline(result, window_of(result))
        assert labels(figure) == ["warps by state", "warps"]
    with made(intervals=ready, walks=[(0, 7, 0, 0, 5, 9, 30, 4)]) as result:
        figure = draw_timeline(result, window_of(result))
        assert labels(figure) == ["warps by state", "warps", "page walks"]
    with made(intervals=ready, dram=[], tlb=[]) as result:  # recorded, but nothing happened
        figure = draw_timeline(result, window_of(result))
        assert labels(figure)[2:] == ["DRAM traffic", "DRAM queue", "TLB hit rate"]
        assert set(line(panel(figure, "DRAM traffic"), "data")) == {0}
        assert np.isnan(line(panel(figure, "TLB hit rate"), "L1")).all()


def test_what_events_do_not_know_has_no_panel(run: Result) -> None:
    of_sm = draw_timeline(run, window_of(run), Selection(sm=0))
    assert labels(of_sm) == ["", "warps by state", "warps", "page walks", "transactions"]
    of_warp = draw_timeline(run, window_of(run), Selection(warp=0))
    assert labels(of_warp) == ["", "warps by state", "warps", "transactions"]


def test_states_stand_by_size_and_small_ones_are_one() -> None:
    stays = [(warp, State.WALK, 0, 120) for warp in range(100)]
    stays += [(100, State.DRAM, 0, 115), (100, State.L2, 115, 118), (100, State.CACHE, 118, 120)]
    with made(intervals=intervals(*stays)) as result:
        stack = heights(panel(draw_timeline(result, window_of(result)), "warps by state"))
        assert list(stack) == ["walk", "other"]
        assert set(stack["other"]) == {1}
    stays += [(200 + warp, State.BARRIER, 40, 41) for warp in range(15)]
    with made(intervals=intervals(*stays)) as result:
        stack = heights(panel(draw_timeline(result, window_of(result)), "warps by state"))
        assert list(stack) == ["walk", "barrier", "other"], "small, but high for a cycle"


def test_a_tlb_level_of_any_name_has_a_colour() -> None:
    names = {"cycle": [0, 10], "state": ["walk", "tlb_FBT", "other"]}
    data = xr.DataArray(np.ones((2, 3)), names, ("cycle", "state"))
    axes = Figure().subplots()
    _stack(1.0, "warps by state", data, 20).draw(axes)
    assert heights(axes).keys() == set(names["state"])


def test_kernels_stand_above(run: Result) -> None:
    launches = run.launches
    assert len(launches) == 2
    middle = int(launches.begin[1])
    axes = draw_timeline(run, window_of(run, middle - 500)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["atax"]
    assert [text.get_text() for text in axes.texts] == launches.kernel.tolist()
    spans = [one.get_paths()[0].vertices[:, 0] for one in axes.collections]
    end = int(launches.end[1])
    assert [tuple(sorted(set(span))) for span in spans] == [(middle - 500, middle), (middle, end)]


def test_a_launch_too_short_for_its_name_has_none(run: Result) -> None:
    begin = int(run.launches.begin[1])
    axes = draw_timeline(run, window_of(run, begin - 3, begin + 400)).axes[0]
    assert [text.get_text() for text in axes.texts] == [run.launches.kernel[1]]
    assert len(axes.collections) == 2


def test_too_many_launches_are_left_out(run: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST_LAUNCHES", 1)
    assert labels(draw_timeline(run, window_of(run)))[0] == "warps by state"
    assert labels(draw_timeline(run, window_of(run, 0, 10)))[0] == "", "one, in these cycles"


@pytest.mark.long
def test_the_title_tells_what_was_run_and_is_shown() -> None:
    work = gpusim.load_workload("atax", "smoke", overrides={"n": "512"})
    model = gpusim.load_model("tiny", ["ideal-tlb"], {"sm.max_loads": "3"})
    with gpusim.simulate(model, work, record=["intervals"]) as result:
        shown = window_of(result, 100, 1100, bin_cycles=50)
        figure = draw_timeline(result, shown, Selection(sm=1, app="atax"))
    assert figure.get_suptitle().split("\n") == [
        "atax (smoke) on tiny + ideal-tlb + sm.max_loads=3 + workload.n=512",
        "atax, SM 1, cycles 100 to 1,100, in bins of 50",
    ]


@pytest.mark.long
def test_a_name_with_dollars_is_no_formula(tmp_path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'description = "a"\nsuite = "own"\npattern = "strided"\n[[applications]]\n'
        "name = '$\\x$'\nprogram = 'atax'\n[applications.smoke]\nn = 64\n"
    )
    work = gpusim.load_workload(str(own), "smoke")
    with gpusim.simulate(gpusim.load_model("tiny"), work, record=["intervals"]) as result:
        assert result.applications.name.tolist() == ["$\\x$"]
        save(draw_timeline(result, window_of(result)), tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000


@pytest.mark.long
def test_equal_runs_give_equal_pictures(run: Result, tmp_path) -> None:
    for name in ("a.png", "b.png"):
        save(draw_timeline(run, window_of(run)), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


# -- warps ---------------------------------------------------------------------------------------


def test_every_cycle_of_every_warp_has_its_state(run: Result) -> None:
    shown, sm = Window(600, 630, 1), 1
    figure = draw_warps(run, shown, Selection(sm=sm))
    axes = panel(figure, f"warp on SM {sm}")
    names = [int(label.get_text()) for label in axes.get_yticklabels()]
    drawn = np.full((len(names), 30), "", dtype=object)
    for state, spans in bars(axes).items():
        for row, begin, end in spans.round().astype(int):
            assert set(drawn[row, begin - 600 : end - 600]) == {""}, "drawn once"
            drawn[row, begin - 600 : end - 600] = state
    seen: set[int] = set()
    for cycle in range(30):
        at = stalled_on(run, 600 + cycle)
        expected = dict(at[at.sm == sm][["warp", "state"]].itertuples(index=False))
        found = {warp: state for warp, state in zip(names, drawn[:, cycle], strict=True) if state}
        assert found == expected
        seen |= expected.keys()
    assert names == sorted(seen)


def test_states_are_listed_by_their_cycles_in_the_window() -> None:
    stays = [(0, State.WALK, 0, 60), (0, State.DRAM, 60, 100), (0, State.READY, 100, 105)]
    with made(intervals=intervals(*stays)) as result:
        axes = panel(draw_warps(result, Window(50, 110, 1)), "warp on SM 0")
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["dram", "walk", "ready"]
    assert bars(axes)["walk"].tolist() == [[0, 50, 60]], "cut off at the window"


def test_rows_tell_sm_and_application() -> None:
    rows = [(2, 4, 0, 1, State.READY, 0, 9), (0, 7, 0, 0, State.READY, 0, 9)]
    with made(intervals=rows) as result:
        (axes,) = draw_warps(result, Window(0, 20, 1)).axes
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == ["long, SM 0: 7", "short, SM 2: 4"]
        (axes,) = draw_warps(result, Window(0, 20, 1), Selection(sm=2)).axes
        assert [label.get_text() for label in axes.get_yticklabels()] == ["4"]


def test_walks_that_warps_waited_for_stand_below(run: Result) -> None:
    shown, selection = Window(0, 300, 1), Selection(sm=0)
    axes = draw_warps(run, shown, selection).axes[-1]
    waits = walk_waits(run, selection)
    warps = waits[waits.since < 300].groupby("walk").warp.nunique()
    walks = run.table("walks")
    walks = walks[walks.index.isin(warps.index) & (walks.requested < 300)]
    walks = walks.sort_values("requested", kind="stable")
    names = [f"{walk.vpn:#x}: {warps[walk.Index]}" for walk in walks.itertuples()]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    found = bars(axes)
    for row, walk in enumerate(walks.to_dict("records")):
        for state, begin, end in (
            ("walker", "requested", "started"),
            ("walk", "started", "finished"),
        ):
            if walk[begin] < walk[end]:
                assert [row, walk[begin], walk[end]] in found[state].round(6).tolist()
    for depth, reads in run.table("walk_reads").groupby("depth"):
        drawn = found.get(f"level {depth}", np.empty((0, 3))).round(6).tolist()
        spans = reads[["begin", "end"]].to_numpy().tolist()
        assert all(span in spans for _, *span in drawn), "as they were recorded"
    levels = sum(len(spans) for name, spans in found.items() if name.startswith("level"))
    assert walks[walks.finished <= 300].levels.sum() <= levels <= walks.levels.sum()


def test_many_walks_have_no_names() -> None:
    walks = [(0, page, 0, 0, page, page + 1, page + 4, 4) for page in range(60)]
    with made(intervals=intervals((0, State.WALK, 0, 90)), walks=walks) as result:
        figure = draw_warps(result, Window(10, 50, 1))
    axes = panel(figure, "43 page walks,")
    assert {label.get_text() for label in axes.get_yticklabels()} == {""}
    assert len(bars(axes)["walk"]) == 43


def test_walks_of_the_selected_application_only() -> None:
    rows = [(0, 0, 0, 0, State.READY, 0, 90), (0, 1, 1, 1, State.READY, 0, 90)]
    walks = [(10, 1, 0, 0, 5, 9, 30, 4), (11, 2, 0, 1, 6, 9, 40, 4), (11, 3, 1, 1, 80, 81, 85, 4)]
    with made(intervals=rows, walks=walks) as result:
        axes = draw_warps(result, Window(0, 50, 1), Selection(app="short")).axes[-1]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0x2"]
        assert len(draw_warps(result, Window(50, 60, 1)).axes) == 1, "no walks in these cycles"


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [draw_timeline, draw_warps])
def test_refusals(draw, run: Result) -> None:
    with made(tlb=[]) as result, pytest.raises(UserError, match="run it with record = intervals"):
        draw(result, Window(0, 20, 1))
    with made(intervals=intervals((0, State.READY, 0, 50))) as result:
        with pytest.raises(UserError, match="has no warps in cycles 50 to 60"):
            draw(result, Window(50, 60, 1))
        with pytest.raises(UserError, match="no SM 3; allowed: 0 to 2"):
            draw(result, Window(0, 60, 1), Selection(sm=3))
    with pytest.raises(UserError, match="no application 'atx'; did you mean 'atax'"):
        draw(run, Window(0, 60, 1), Selection(app="atx"))


def test_too_much_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = [(warp, State.READY, 0, 50) for warp in range(65)]
    with made(intervals=intervals(*stays)) as result:
        with pytest.raises(
            UserError, match=r"65 warps in cycles 0 to 60 .* up to 64: choose an SM"
        ):
            draw_warps(result, Window(0, 60, 1))
        monkeypatch.setattr(warp_picture, "MOST_INTERVALS", 21)
        with pytest.raises(
            UserError, match=r"22 intervals in SM 0, .* up to 21: choose a narrower"
        ):
            draw_warps(result, Window(0, 60, 1), Selection(sm=0))
