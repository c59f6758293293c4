"""Programs side by side, a bar for each design: the commonest figure of the field."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import legend_above, name_ticks, name_values
from gpusim.views.plots.ratios import geometric_mean, ratio_label, ratios_of
from gpusim.views.plots.style import HATCHES, Frame, axes_or_new, styled

GROUP = 0.8
"""Width of the bars of a program; the programs stand 1 apart."""

APART = 0.4
"""How much farther away the geomean stands."""

MARK = "*"
"""Over a geomean of fewer programs than the others."""


@styled
def bar_groups(
    data: pd.DataFrame,
    *,
    baseline: str | None = None,
    speedup: bool = False,
    geomean: bool = True,
    limit: float | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Groups of bars: one group a row (program), one bar a column (design).

    What is missing (NaN) has no bar and does not count in the geomean, which is marked with a star
    if its design lacks a program.  A program without its baseline lacks all.

    Args:
        data: numbers; the index names the programs, the columns name the designs.
        baseline: design by which the others are divided; it is the line at 1 and has no bars.
        speedup: divide the baseline by the others: times become speedups.
        geomean: a last group of geometric means over the programs.
        limit: end of the axis; bars that are cut off there tell their values.
        **frame: as `Frame`; the default of `ylabel` is what the baseline makes of the numbers, and
            a new figure is one column wide.

    Raises:
        PlotError: no such baseline, nothing to draw, or a number that is not positive where there
            is a ratio or a geomean.
    """
    values = ratios_of(data, baseline, speedup, geomean)
    if limit is not None and limit <= 0:
        raise PlotError(f"an axis from 0 to {limit}; allowed: a limit above 0")
    axes = axes_or_new(frame.get("ax"))
    places = np.arange(len(values), dtype=float)
    if geomean:
        places = np.append(places, len(values) + APART)
    _draw_bars(axes, values, places, limit)
    if baseline is not None:
        axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 2)), label=baseline)
    if geomean:
        axes.axvline(len(values) - 0.5 + APART / 2, color="0.6", linewidth=0.6)
    name_ticks(axes, places.tolist(), [*values.index, "geomean"] if geomean else values.index)
    axes.set_xlim(-0.55, places[-1] + 0.55)
    axes.set_ylim(0, limit)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.grid(axis="y")
    axes.set_xlabel(frame.get("xlabel", ""))
    name_values(axes, frame.get("ylabel") or ratio_label(baseline, speedup))
    legend_above(axes, frame.get("title", ""))
    return axes


def _draw_bars(
    axes: Axes, values: pd.DataFrame, places: NDArray[np.float64], limit: float | None
) -> None:
    """The bars of all groups; a place more than there are programs is that of the geomean."""
    geomean = len(places) > len(values)
    width = GROUP / values.shape[1]
    for number, design in enumerate(values.columns):
        one = values[design].to_numpy()
        heights = np.append(one, geometric_mean(one)) if geomean else one
        middles = places + (number - (values.shape[1] - 1) / 2) * width
        there = ~np.isnan(heights)
        axes.bar(
            middles[there],
            heights[there],
            width,
            label=str(design),
            edgecolor="black",
            color=PALETTE[number % len(PALETTE)],
            hatch=_hatch(number),
            linewidth=0.4,
        )
        if limit is not None:
            _tell_cut(axes, middles[there], heights[there], limit)
        if geomean and np.isnan(one).any() and there[-1]:
            _mark_partial(axes, middles[-1], heights[-1], limit)


def _hatch(number: int) -> str:
    """The hatch of a design: it changes where the colours begin anew, so no two are alike."""
    return HATCHES[(number + number // len(PALETTE)) % len(HATCHES)]


def _tell_cut(
    axes: Axes, middles: NDArray[np.float64], heights: NDArray[np.float64], limit: float
) -> None:
    """The values of bars that end above the axis."""
    for middle, height in zip(middles, heights, strict=True):
        if height > limit:
            axes.text(
                middle,
                0.98 * limit,
                f"{height:#.3g}",
                rotation=90,
                ha="center",
                va="top",
                fontsize="x-small",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )


def _mark_partial(axes: Axes, middle: float, height: float, limit: float | None) -> None:
    axes.annotate(
        MARK,
        (middle, height if limit is None else min(height, limit)),
        (0, 1),
        textcoords="offset points",
        ha="center",
        va="bottom",
        annotation_clip=False,
    )
