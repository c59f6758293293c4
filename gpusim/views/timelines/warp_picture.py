"""Single warps, cycle by cycle: a row for each, coloured by what it does or waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.states import State
from gpusim.views.plots import PlotFigure, state_colours
from gpusim.views.plots.labels import cycle_ticks, legend_beside
from gpusim.views.timelines.events import Wanted, require, rows, selectable
from gpusim.views.timelines.picture import Panel, describe, draw_panels, heading, launch_panel
from gpusim.views.timelines.waits import walk_waits
from gpusim.views.timelines.window import ALL_WARPS, Selection, Window

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

MOST_WARPS = 64
"""Rows of a picture."""

MOST_INTERVALS = 200_000
"""Intervals in a picture; a thousand pixels do not show more."""

_MOST_NAMED_WALKS = 32
_LEVEL_COLOURS = ("#7F3B08", "#FDD0A2", "#FDAE6B", "#F16913", "#A63603")
"""Colours of the levels of the page table, the root lightest; a fifth is darkest."""

_ROW = 0.125
"""Height of a row with a name, in inches."""

_MOST_TALL_ROWS = 32
_FLAT_ROW = 0.07
"""Height of each of more rows, of which only every fourth has its name."""


def draw_warps(result: Result, window: Window, selection: Selection = ALL_WARPS) -> PlotFigure:
    """What each warp did in every cycle, exact whatever the bins; page walks below, if recorded.

    With recorded `requests`, the page walks are those that the warps waited for, with the number of
    warps that did.  Without, they are those of the whole GPU, or of the application that was
    selected: a warp also waits for walks that another SM asked for first.  With recorded
    `walk_reads`, each walk is split into the levels of the page table.

    Raises:
        UserError: the run has no intervals, there is no such SM, warp or application, or there are
            no warps in the window, more than `MOST_WARPS`, or more than `MOST_INTERVALS` intervals.
    """
    stays = _stays(result, window, selection)
    panels = [*launch_panel(result, window, selection), _warp_panel(result, stays)]
    walks = _walks(result, window, selection)
    if len(walks):
        panels.append(_walk_panel(result, walks, window))
    return draw_panels(panels, window, f"{heading(result)}\n{describe(window, selection)}")


def _stays(result: Result, window: Window, selection: Selection) -> pd.DataFrame:
    """The intervals in the window, cut off at its ends, by warp.

    Raises:
        UserError: as `draw_warps`.
    """
    require(result, "intervals")
    among = selectable(result, selection)["intervals"]
    columns = ["sm", "warp", "app", "state", "begin", "end"]
    found = _touching(result, "intervals", columns, among, window)
    where = describe(window, selection)
    warps = found.warp.nunique()
    if not warps:
        raise UserError(f"{result.name} has no warps in {where}")
    if warps > MOST_WARPS:
        raise UserError(
            f"{warps} warps in {where} of {result.name}; a row each is drawn for up to "
            f"{MOST_WARPS}: choose an SM, a warp, or a narrower window"
        )
    if len(found) > MOST_INTERVALS:
        raise UserError(
            f"{len(found):,} intervals in {where} of {result.name}; drawn are up to "
            f"{MOST_INTERVALS:,}: choose a narrower window"
        )
    cut = {name: found[name].clip(window.begin, window.end) for name in ("begin", "end")}
    return found.assign(**cut).sort_values(["sm", "warp", "begin"], ignore_index=True)


def _walks(result: Result, window: Window, selection: Selection) -> pd.DataFrame:
    """The page walks in the window, by arrival; none if they were not recorded."""
    import pandas as pd

    if "walks" not in result.tables:
        return pd.DataFrame()
    among = selectable(result, Selection(app=selection.app))["walks"]
    columns = ["asid", "vpn", "requested", "started", "finished"]
    found = _touching(result, "walks", columns, among, window)
    if "stages" in result.tables:
        waits = walk_waits(result, selection)
        waits = waits[(waits.since < window.end) & (waits.until > window.begin)]
        found = found.join(waits.groupby("walk").warp.nunique().rename("warps"), how="inner")
    return found.sort_values("requested", kind="stable", ignore_index=True)


def _levels(result: Result, walks: pd.DataFrame, window: Window) -> pd.DataFrame:
    """The reads of page-table levels of these walks: row (of the walk), depth, begin, end."""
    import pandas as pd

    columns = ["asid", "vpn", "depth", "begin", "end"]
    reads = _touching(result, "walk_reads", columns, {}, window)
    found = pd.merge(reads, walks.rename_axis("row").reset_index(), on=["asid", "vpn"])
    return found[(found.begin >= found.started) & (found.end <= found.finished)]


def _touching(
    result: Result, table: str, columns: list[str], among: Wanted, window: Window
) -> pd.DataFrame:
    """Rows that last some cycles of the window."""
    import pandas as pd

    begin, end = ("begin", "end") if "begin" in columns else ("requested", "finished")
    touching = (
        chunk[(chunk[begin] < window.end) & (chunk[end] > window.begin)]
        for chunk in rows(result, table, columns, among)
    )
    return pd.concat([result.table(table, 0, 0, columns), *touching])[columns]


def _warp_panel(result: Result, stays: pd.DataFrame) -> Panel:
    first = stays.drop_duplicates("warp")
    row = stays.warp.map(dict(zip(first.warp, range(len(first)), strict=True))).to_numpy()
    sms, apps = first.sm.tolist(), first.app.tolist()
    names = [str(warp) for warp in first.warp]
    if len(set(sms)) > 1:
        names = [f"SM {sm}: {name}" for sm, name in zip(sms, names, strict=True)]
    if len(set(apps)) > 1:
        owners = result.applications.name[apps]
        names = [f"{app}, {name}" for app, name in zip(owners, names, strict=True)]
    label = "warp" if len(set(sms)) > 1 else f"warp on SM {sms[0]}"

    def draw(axes: Axes) -> None:
        states = stays.state.to_numpy()
        sizes = (stays.end - stays.begin).groupby(stays.state).sum().sort_values(kind="stable")
        for state in sizes.index:
            one = states == state
            name = result.states[state]
            colour = state_colours([name], own=True)[name]
            _bars(axes, _Spans(row[one], stays.begin[one], stays.end[one]), name, colour)
        _name_rows(axes, names)
        legend_beside(axes)

    row_height = _ROW if len(names) <= _MOST_TALL_ROWS else _FLAT_ROW
    return Panel(max(row_height * len(names), 1.4), label, draw)


def _walk_panel(result: Result, walks: pd.DataFrame, window: Window) -> Panel:
    few = len(walks) <= _MOST_NAMED_WALKS
    label = "page walk" if few else f"{len(walks):,} page walks,\nby arrival"
    names = [hex(vpn) if few else "" for vpn in walks.vpn]
    if few and "warps" in walks:
        label = "page walk: warps"
        names = [f"{name}: {warps}" for name, warps in zip(names, walks.warps, strict=True)]

    def draw(axes: Axes) -> None:
        row, height = np.arange(len(walks)), 0.88 if few else 1.0
        for state, begin, end in (
            (State.WALKER, walks.requested, walks.started),
            (State.WALK, walks.started, walks.finished),
        ):
            if (begin < end).any():
                state_name = result.states[state]
                colour = state_colours([state_name])[state_name]
                _bars(axes, _Spans(row, begin, end), state_name, colour, height)
        if "walk_reads" in result.tables:
            levels = _levels(result, walks, window)
            for depth in np.unique(levels.depth).tolist():
                reads = levels[levels.depth == depth]
                colour = _LEVEL_COLOURS[depth % len(_LEVEL_COLOURS)]
                spans = _Spans(reads.row.to_numpy(), reads.begin, reads.end)
                _bars(axes, spans, f"level {depth}", colour, height)
        _name_rows(axes, names)
        legend_beside(axes)

    return Panel(min(max(_ROW * len(walks), 0.5), 2.5), label, draw)


@frozen(eq=False)
class _Spans:
    """Cycles ``[begin, end)``, each in its row."""

    row: NDArray[np.int64]
    begin: pd.Series[int]
    end: pd.Series[int]


def _bars(axes: Axes, spans: _Spans, name: str, colour: str, height: float = 0.88) -> None:
    """Bars of one state or level."""
    corners = np.empty((len(spans.row), 4, 2))
    corners[:, (0, 3), 0] = spans.begin.to_numpy()[:, np.newaxis]
    corners[:, (1, 2), 0] = spans.end.to_numpy()[:, np.newaxis]
    corners[:, :2, 1] = spans.row[:, np.newaxis] - height / 2
    corners[:, 2:, 1] = spans.row[:, np.newaxis] + height / 2
    axes.add_collection(PolyCollection(list(corners), facecolor=colour, linewidth=0, label=name))


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Rows downwards, each with its name."""
    axes.set_ylim(len(names) - 0.5, -0.5)
    step = 1 if len(names) <= _MOST_TALL_ROWS else 4
    axes.set_yticks(range(0, len(names), step), names[::step], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("cycle")
    cycle_ticks(axes)
