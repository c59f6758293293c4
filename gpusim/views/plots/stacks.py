"""Stacked bars: where the cycles of each run went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from gpusim.views.plots.colours import OTHER, is_translation, part_colours
from gpusim.views.plots.errors import PlotError, refuse_cells
from gpusim.views.plots.labels import legend_beside, name_ticks, name_values
from gpusim.views.plots.style import Frame, axes_or_new, styled

TRANSLATION_HATCH = "////"


@styled
def stacked_bars(
    data: pd.DataFrame,
    *,
    shares: bool = True,
    lump: float = 0,
    colours: Mapping[str, str] | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Stacks of parts: one bar a row (run or design), one part a column (state).

    Parts that are nowhere are left out; what is missing (NaN) counts as nothing.

    Args:
        data: numbers, 0 or more.
        shares: divide each bar by its sum.
        lump: parts that are below this share of every bar are drawn as one, ``other``, on top.
        colours: of the parts; default: those of the states.
        **frame: as `Frame`; the default of `ylabel` is ``share``, or nothing, and a new figure is
            one column wide.

    Raises:
        PlotError: a number below 0, a part without a colour, or nothing to draw.
    """
    values = _lumped(parts_of(data), lump)
    fill = part_colours(values.columns, colours)
    axes = axes_or_new(frame.get("ax"))
    if shares:
        values = values.div(values.sum(axis=1).replace(0, 1), axis=0)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set_ylim(0, 1)
    places = np.arange(len(values))
    bottom = np.zeros(len(values))
    for part in values.columns:
        heights = values[part].to_numpy()
        axes.bar(
            places,
            heights,
            0.7,
            bottom,
            label=part,
            color=fill[part],
            linewidth=0.4,
            edgecolor="black",
            hatch=hatch_of(part),
        )
        bottom += heights
    name_ticks(axes, places.tolist(), values.index)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xlabel(frame.get("xlabel", ""))
    name_values(axes, frame.get("ylabel") or ("share" if shares else ""))
    axes.set_title(frame.get("title", ""), loc="left")
    legend_beside(axes)
    return axes


def hatch_of(part: str) -> str | None:
    """Translation is hatched in all stacks, so that grey print shows it."""
    return TRANSLATION_HATCH if is_translation(part) else None


def parts_of(data: pd.DataFrame) -> pd.DataFrame:
    """Without missing numbers and parts that are nowhere.

    Raises:
        PlotError: a number below 0, or nothing to draw.
    """
    values = data.astype(float).fillna(0)
    refuse_cells(values, (values < 0).to_numpy(), "the parts of a stack are 0 or more")
    values = values.loc[:, (values > 0).any()]
    if values.empty:
        raise PlotError("nothing to draw: no bars, or all parts are 0")
    return values


def _lumped(values: pd.DataFrame, least: float) -> pd.DataFrame:
    """The parts below a share of every bar as one."""
    largest = values.div(values.sum(axis=1).replace(0, 1), axis=0).max()
    small = largest.index[largest < least]
    if not len(small):
        return values
    return values.drop(columns=small).assign(**{OTHER: values[small].sum(axis=1)})
