"""Plots of distributions: how often each value occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray

from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import legend_above, name_values
from gpusim.views.plots.powers_of_two import are_bytes, power_ticks
from gpusim.views.plots.style import LINES, MARKERS, Frame, axes_or_new, styled


@styled
def cdf(
    series: Mapping[str, ArrayLike] | pd.DataFrame,
    *,
    counts: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
    log2: bool = False,
    mark: float | Mapping[str, float] | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Cumulative distributions, exact: a step at every value that occurs.

    Args:
        series: observations by name, or the columns of a table; NaN is left out.
        counts: how often each observation occurs, by the same names; default: once.
        log2: an axis of powers of two, labelled in sizes.  Values of 0 and less lie to the left
            of it: the line begins at their share.
        mark: a value to mark by a vertical line, such as a capacity; or several by their labels.
        **frame: as `Frame`; `ylabel` says of what the shares are, of observations by default, and a
            new figure is one column wide.

    Raises:
        PlotError: a series without observations, a count below 0, or no value above 0 on an axis
            of powers of two.
    """
    found = {
        str(name): _cumulative(str(name), series[name], None if counts is None else counts[name])
        for name in series.keys()  # noqa: SIM118 a table's items are not its columns' names
    }
    marks = mark if isinstance(mark, Mapping) else {} if mark is None else {f"{mark:g}": mark}
    left, right = _range([values for values, _ in found.values()], [*marks.values()], log2)
    xlabel = frame.get("xlabel", "")
    axes = axes_or_new(frame.get("ax"))
    for number, (name, (values, shares)) in enumerate(found.items()):
        below = shares[values < left]
        inside = values >= left
        axes.plot(
            np.concatenate([[left], values[inside], [right]]),
            np.concatenate([below[-1:] if below.size else [0], shares[inside], [1]]),
            drawstyle="steps-post",
            label=name,
            color=PALETTE[number % len(PALETTE)],
            linestyle=LINES[number % len(LINES)],
            marker=MARKERS[number % len(MARKERS)],
            markevery=(0.02 + 0.03 * (number % 5), 0.2),
        )
    if log2:
        axes.set_xscale("log", base=2)
        power_ticks(axes, left, right, are_bytes(xlabel))
    axes.set_xlim(left, right)
    for label, place in marks.items():
        _mark(axes, label, place)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid()
    axes.set_xlabel(xlabel)
    name_values(axes, frame.get("ylabel", "share of observations"))
    legend_above(axes, frame.get("title", ""))
    return axes


Cumulative = tuple[NDArray[np.float64], NDArray[np.float64]]


def _cumulative(name: str, values: ArrayLike, counts: ArrayLike | None) -> Cumulative:
    """The distinct values, ascending, and the share of observations that are at most each.

    Raises:
        PlotError: as `cdf`.
    """
    observed = np.asarray(values, dtype=float).ravel()
    often = np.ones(len(observed)) if counts is None else np.asarray(counts, dtype=float).ravel()
    if len(often) != len(observed):
        raise PlotError(f"{name}: {len(observed)} values, but {len(often)} counts")
    if (often < 0).any():
        raise PlotError(f"{name}: a count of {often.min():g}; allowed: 0 or more")
    there = ~np.isnan(observed) & (often > 0)
    if not there.any():
        raise PlotError(f"{name}: no observations")
    distinct, where = np.unique(observed[there], return_inverse=True)
    sums = np.cumsum(np.bincount(where, often[there]))
    return distinct, sums / sums[-1]


def _mark(axes: Axes, label: str, place: float) -> None:
    """A vertical line, named on the side that has room."""
    across = axes.transAxes.inverted().transform(axes.transData.transform((place, 0)))[0]
    late = across > 0.75
    axes.axvline(place, color="0.4", linewidth=0.8, zorder=1)
    axes.annotate(
        label,
        (place, 0.02),
        (-2 if late else 2, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize="small",
        color="0.3",
        ha="right" if late else "left",
    )


def _range(
    values: list[NDArray[np.float64]], marks: list[float], log2: bool
) -> tuple[float, float]:
    """Where the axis begins and ends."""
    if not values:
        raise PlotError("nothing to draw: no series")
    all_values = np.concatenate([*values, marks])
    last = float(all_values.max())
    if not log2:
        first = min(0.0, float(all_values.min()))
        return first, last + 0.02 * ((last - first) or 1)
    if last <= 0:
        raise PlotError("no value above 0, so none on an axis of powers of two")
    first = float(all_values[all_values > 0].min())
    return 2.0 ** np.floor(np.log2(first)), 2.0 ** (np.floor(np.log2(last)) + 1)
