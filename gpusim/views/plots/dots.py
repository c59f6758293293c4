"""Many programs below each other, a dot for each design: what bars are too crowded for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
import pandas as pd
from attrs import frozen
from matplotlib.axes import Axes

from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import legend_above, name_values
from gpusim.views.plots.ratios import geometric_mean, ratio_label, ratios_of
from gpusim.views.plots.style import MARKERS, Frame, axes_or_new, styled

ROW, HEAD = 0.135, 0.75
"""Inches that a row takes, and what stands above and below the rows."""

GEOMEAN = "geomean"
_FIT = 24
"""Letters of a name, at most."""


def height_of_dots(rows: int) -> float:
    """Height in inches of a figure with `rows` rows, means among them."""
    return ROW * rows + HEAD


@frozen
class Rows:
    """The order of the rows of `sorted_dots`.

    Attributes:
        sort: programs by the last design, the largest on top; otherwise rows keep their order.
        means: names of rows that are no programs but means of them: they stay below.
    """

    sort: bool = True
    means: Sequence[str] = ()


BY_LAST_DESIGN = Rows()


@styled
def sorted_dots(
    data: pd.DataFrame,
    *,
    baseline: str | None = None,
    speedup: bool = False,
    geomean: bool = True,
    rows: Rows = BY_LAST_DESIGN,
    limit: float | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Rows of dots: one row a program, one dot a column (design).

    What is missing (NaN) has no dot and does not count in the geomean.

    Args:
        data: numbers; the index names the programs, the columns name the designs.
        baseline: design by which the others are divided; it is the line at 1 and has no dots.
        speedup: divide the baseline by the others: times become speedups.
        geomean: a last row of geometric means over the programs.
        rows: their order.
        limit: end of the axis; dots beyond it stand there and tell their values.
        **frame: as `Frame`; the default of `xlabel` is what the baseline makes of the numbers, and
            a new figure is a page wide and as high as `height_of_dots` says.

    Raises:
        PlotError: as `bar_groups`.
    """
    if limit is not None and limit <= 0:
        raise PlotError(f"an axis from 0 to {limit}; allowed: a limit above 0")
    values, means = _in_order(ratios_of(data, baseline, speedup, geomean), rows, geomean=geomean)
    axes = _axes(frame.get("ax"), len(values))
    shown = values if limit is None else values.clip(upper=limit)
    places = np.arange(len(values))
    axes.hlines(places, shown.min(axis=1), shown.max(axis=1), color="0.8", linewidth=1, zorder=1)
    for number, design in enumerate(values.columns):
        axes.plot(
            shown[design].to_numpy(),
            places,
            linestyle="none",
            label=str(design),
            color=PALETTE[number % len(PALETTE)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4,
            clip_on=False,
        )
    if limit is not None:
        _tell_cut(axes, values, limit)
    if baseline is not None:
        axes.axvline(1, color="black", linewidth=0.8, linestyle=(0, (4, 2)), label=baseline)
    if 0 < means < len(values):
        axes.axhline(len(values) - means - 0.5, color="0.6", linewidth=0.6)
    _finish(axes, values, limit, from_zero=baseline is None)
    axes.set_xlabel(frame.get("xlabel") or ratio_label(baseline, speedup))
    name_values(axes, frame.get("ylabel", ""))
    legend_above(axes, frame.get("title", ""))
    return axes


def _axes(ax: Axes | None, rows: int) -> Axes:
    axes = axes_or_new(ax, "page")
    if ax is None:
        axes.figure.figure.set_figheight(height_of_dots(rows))
    return axes


def _in_order(values: pd.DataFrame, rows: Rows, *, geomean: bool) -> tuple[pd.DataFrame, int]:
    """The rows from above, and how many of them are means."""
    means = values[values.index.isin(list(rows.means))]
    programs = values.drop(index=means.index)
    if rows.sort:
        programs = programs.sort_values(programs.columns[-1], ascending=False, kind="stable")
    parts = [programs, means]
    if geomean:
        row = {name: geometric_mean(programs[name].to_numpy()) for name in programs}
        parts.append(pd.DataFrame(row, index=[GEOMEAN]))
    return pd.concat(parts), len(means) + geomean


def _tell_cut(axes: Axes, values: pd.DataFrame, limit: float) -> None:
    """The values of dots that lie beyond the axis."""
    for place, row in enumerate(values.to_numpy()):
        if cut := ", ".join(f"{value:.3g}" for value in row if value > limit):
            axes.annotate(
                cut,
                (limit, place),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize="x-small",
                annotation_clip=False,
            )


def _finish(axes: Axes, values: pd.DataFrame, limit: float | None, from_zero: bool) -> None:
    names = [str(name) for name in values.index]
    short = [name if len(name) <= _FIT else f"{name[: _FIT - 1]}…" for name in names]
    axes.set_yticks(np.arange(len(values)), short)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(values) - 0.4, -0.6)
    if from_zero and not (values.to_numpy() < 0).any():
        axes.set_xlim(left=0)
    if limit is not None:
        axes.set_xlim(right=limit)
    axes.grid(axis="x")
