"""The picture of a timeline: panels over the cycles of a run, one below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import PercentFormatter

from gpusim.core.errors import UserError
from gpusim.views.plots import (
    PlotFigure,
    new_figure,
    stacked_area,
    state_colours,
    step_lines,
    style,
)
from gpusim.views.plots.colours import OTHER, STATE_COLOURS
from gpusim.views.timelines.launch_rows import launch_rows, row_of
from gpusim.views.timelines.timeline import timeline
from gpusim.views.timelines.window import ALL_WARPS, Selection, Window

if TYPE_CHECKING:
    import xarray as xr

    from gpusim.results.result import Result

LEAST_SHARE = 0.01
LEAST_HEIGHT = 0.1
"""States are drawn as one that have a smaller share of all warp-cycles and are nowhere higher."""

MOST_LAUNCHES = 400
"""Kernel launches in a picture; of more, none is shown."""
MOST_ROWS = 32
"""Streams whose launches are in a picture; of more, none is shown."""

_COLOURS = {OTHER: "#F3E9F7", "memory": STATE_COLOURS["data"]}
"""Colours of parts that are no states, or not drawn as elsewhere."""
_LETTER = 0.01
"""Width of a letter in the bar of a launch, in widths of the axes."""


@frozen
class Panel:
    """A part of a picture, over cycles.

    Attributes:
        height: in inches.
        label: of the upright axis, with its unit.
        draw: draws it into its axes.
    """

    height: float
    label: str
    draw: Callable[[Axes], object]


def draw_timeline(result: Result, window: Window, selection: Selection = ALL_WARPS) -> PlotFigure:
    """What warps, page walks, transactions, DRAM and TLBs did, as far as it was recorded.

    Raises:
        UserError: the run has no intervals, there is no such SM, warp or application, or no warp
            of the selection lives in the window.
    """
    found = timeline(result, window, selection)
    if not found.warp_cycles.any():
        raise UserError(f"{result.name} has no warps in {describe(window, selection)}")
    panels = [*launch_panel(result, window, selection), *_panels(found, window, result.families)]
    about = f"{describe(window, selection)}, in bins of {window.bin_cycles:,}"
    return draw_panels(panels, window, f"{heading(result)}\n{about}")


def heading(result: Result) -> str:
    """What was run on what."""
    return fill(result.provenance.title, 100)


def describe(window: Window, selection: Selection) -> str:
    """The warps and the cycles of a picture, in words."""
    parts = (
        "" if selection.app is None else selection.app,
        "" if selection.sm is None else f"SM {selection.sm}",
        "" if selection.warp is None else f"warp {selection.warp}",
        f"cycles {window.begin:,} to {window.end:,}",
    )
    return ", ".join(part for part in parts if part)


def draw_panels(panels: list[Panel], window: Window, title: str) -> PlotFigure:
    """A figure, a page wide, of panels that share the axis of cycles."""
    figure = new_figure("page", height=0.7 + sum(panel.height for panel in panels))
    column = figure.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[panel.height for panel in panels],
    )[:, 0]
    with style():
        for panel, axes in zip(panels, column, strict=True):
            panel.draw(axes)
            axes.set_ylabel(panel.label)
            axes.label_outer()
        figure.suptitle(title, x=0.01, ha="left")
    column[0].set_xlim(window.begin, window.end)
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name with a $ is no formula
    return figure


def launch_panel(result: Result, window: Window, selection: Selection) -> list[Panel]:
    """Bars of the kernel launches, a row for each application, GPU and stream.

    Nothing if they are too many.
    """
    launches = result.launches
    shown = (launches.begin < window.end) & (launches.end > window.begin)
    if selection.app is not None:
        shown &= launches.app == selection.app
    launches = launches[shown]
    if not 0 < len(launches) <= MOST_LAUNCHES:
        return []
    names = launch_rows(result)
    own = [row_of(one) for one in launches.to_dict("records")]
    rows = [place for place in names if place in own]
    if len(rows) > MOST_ROWS:
        return []

    def draw(axes: Axes) -> None:
        letter = _LETTER * (window.end - window.begin)
        for number, launch in enumerate(launches.to_dict("records")):
            first, last = max(launch["begin"], window.begin), min(launch["end"], window.end)
            row = rows.index(own[number])
            axes.broken_barh(
                [(first, last - first)],
                (row - 0.42, 0.84),
                linewidth=0.5,
                edgecolor="white",
                facecolor=("0.78", "0.88")[number % 2],
            )
            if last - first > letter * len(launch["kernel"]):
                axes.text(
                    (first + last) / 2,
                    row,
                    launch["kernel"],
                    fontsize="small",
                    ha="center",
                    va="center_baseline",
                )
        axes.set_yticks(range(len(rows)), [names[place] for place in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    return [Panel(0.18 * len(rows), "", draw)]


def _panels(found: xr.Dataset, window: Window, families: Sequence[str]) -> list[Panel]:
    """What was recorded, from the warps outwards."""
    end = window.end
    warps = _by_size(found.warp_cycles / window.widths[:, np.newaxis])
    busy = _named(found, resident="resident_warps", ready="ready_warps")
    panels = [_stack(2.3, "warps by state", warps, end), _lines(0.9, "warps", busy, end)]
    if "walks_running" in found:
        walks = _named(found, running="walks_running", queued="walks_queued")
        panels.append(_lines(0.9, "page walks", walks, end))
    if "outstanding" in found:
        by_class = _by_class(found.outstanding, families)
        panels.append(_stack(0.9, "transactions", by_class, end))
    if "dram_bytes" in found:
        panels.append(_stack(0.9, "DRAM traffic\n[B/cycle]", found.dram_bytes, end))
        panels.append(_lines(0.8, "DRAM queue\n[requests]", found.dram_queue, end))
    if "tlb_hit_rate" in found:
        panels.append(Panel(0.9, "TLB hit rate", lambda ax: _rates(ax, found.tlb_hit_rate, end)))
    if "batch_faults" in found and found.batch_faults.any():
        batches = _named(found, faults="batch_faults", pages="batch_pages")
        panels.append(_lines(0.9, "fault batches", batches, end))
    if "link_use" in found and found.link_use.any():
        panels.append(Panel(0.9, "link use", lambda ax: _rates(ax, found.link_use, end)))
    if "node_link_use" in found:
        panels.append(_links(found.node_link_use, end))
    if "page_moves" in found and found.page_moves.any():
        panels.append(_lines(0.9, "pages that\nmove", found.page_moves, end))
    return panels


def _stack(height: float, label: str, data: xr.DataArray, end: int) -> Panel:
    """A stack of parts; where there is nothing to stack, lines at 0."""
    if not data.any():
        return _lines(height, label, data, end)
    (along,) = (name for name in data.dims if name != "cycle")
    parts = [str(name) for name in data[along].values]
    states = state_colours((name for name in parts if name not in _COLOURS), own=True)
    colours = {**states, **_COLOURS}
    return Panel(height, label, lambda axes: stacked_area(data, end=end, colours=colours, ax=axes))


def _lines(height: float, label: str, data: xr.DataArray, end: int) -> Panel:
    """Lines of what cannot be below 0."""

    def draw(axes: Axes) -> None:
        step_lines(data, end=end, ax=axes)
        axes.set_ylim(bottom=0)

    return Panel(height, label, draw)


def _rates(axes: Axes, rates: xr.DataArray, end: int) -> None:
    step_lines(rates, end=end, ax=axes)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def _links(use: xr.DataArray, end: int) -> Panel:
    """A row for each link between GPUs, the darker the busier."""
    names = [str(name) for name in use.node_link.values]

    def draw(axes: Axes) -> None:
        edges = [*use.cycle.values.tolist(), end]
        axes.pcolormesh(edges, range(len(names) + 1), use.values.T, cmap="Greys", vmin=0, vmax=1)
        step = -(-len(names) // MOST_ROWS)
        axes.set_yticks([place + 0.5 for place in range(0, len(names), step)], names[::step])
        axes.set_ylim(len(names), 0)
        axes.tick_params(axis="y", length=0, labelsize="small")

    return Panel(0.3 + 0.13 * min(len(names), 2 * MOST_ROWS), "links between GPUs", draw)


def _named(found: xr.Dataset, **names: str) -> xr.DataArray:
    """Variables as lines with shorter names."""
    lines = found[list(names.values())].to_dataarray("line").transpose("cycle", "line")
    return lines.assign_coords(line=list(names))


def _by_size(warps: xr.DataArray) -> xr.DataArray:
    """States by their share of all, the largest first; small ones as one, at the end."""
    import xarray as xr

    share = (warps.sum("cycle") / warps.sum()).to_numpy()
    height = (warps.max("cycle") / warps.sum("state").max()).to_numpy()
    small = (share < LEAST_SHARE) & (height < LEAST_HEIGHT)
    order = np.argsort(-share, kind="stable")
    other = warps.isel(state=small).sum("state").expand_dims(state=[OTHER], axis=1)
    return xr.concat([warps.isel(state=order[~small[order]]), other], "state")


def _by_class(outstanding: xr.DataArray, families: Sequence[str]) -> xr.DataArray:
    """Transactions that wait for their translation, and all others."""
    classes = np.where(np.array(families) == "translation", "translation", "memory")
    return outstanding.groupby(outstanding.state.copy(data=classes)).sum()
