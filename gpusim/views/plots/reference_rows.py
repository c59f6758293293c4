"""Published numbers beside those of gpusim, as rows below a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import isnan

from attrs import frozen
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.labels import number_text
from gpusim.views.plots.style import style

THEIRS, OURS = "the paper", "here"

_ROW, _AXIS, _HEAD = 0.15, 0.42, 0.2
"""Inches of a row, of what stands below the rows of a unit, and of the legend above all."""

_NAMES, _NUMBERS = 0.3, 0.16
"""Parts of the width, for names at the left and numbers at the right."""

_LETTERS = 34
"""Letters of a name, on a page."""

_WIDE = 30.0
"""Numbers above 0 whose ratio is larger need a logarithmic axis."""


@frozen
class Stated:
    """A number that is stated, and ours.

    Attributes:
        name: what it is.
        unit: of both.
        theirs: the number that is stated.
        ours: what came out here; NaN: nothing.
    """

    name: str
    unit: str
    theirs: float
    ours: float


def stated_below(figure: Figure, rows: Sequence[Stated]) -> None:
    """Make a figure higher, and draw pairs of numbers there: one row each, one axis a unit.

    Args:
        figure: all drawn; its layout becomes a constrained one, of its upper part.
        rows: rows of a unit stand together, in the order in which units come first.
    """
    units = list(dict.fromkeys(row.unit for row in rows))
    groups = [
        (unit, list(mine))
        for unit, mine in groupby(
            sorted(rows, key=lambda row: units.index(row.unit)), lambda row: row.unit
        )
    ]
    heights = [_ROW * len(mine) + _AXIS for _, mine in groups]
    width, before = figure.get_size_inches()
    whole = before + sum(heights) + _HEAD
    figure.set_size_inches(width, whole)
    figure.set_layout_engine("constrained", rect=(0, 1 - before / whole, 1, before / whole))
    top = sum(heights)
    with style():
        for (unit, mine), height in zip(groups, heights, strict=True):
            box = (
                _NAMES,
                (top - height + _AXIS) / whole,
                1 - _NAMES - _NUMBERS,
                (height - _AXIS) / whole,
            )
            axes = figure.add_axes(box)
            _draw(axes, mine, unit)
            if mine is groups[0][1]:
                axes.legend(
                    loc="lower left",
                    bbox_to_anchor=(0, 1),
                    ncols=2,
                    borderaxespad=0.2,
                    borderpad=0,
                )
            top -= height


def _draw(axes: Axes, rows: Sequence[Stated], unit: str) -> None:
    places = range(len(rows))
    theirs, ours = [row.theirs for row in rows], [row.ours for row in rows]
    axes.hlines(places, theirs, ours, color="0.8", linewidth=1, zorder=1)
    axes.plot(
        theirs,
        places,
        "D",
        color="white",
        markeredgecolor="black",
        markersize=4.5,
        label=THEIRS,
        clip_on=False,
    )
    axes.plot(ours, places, "o", color=PALETTE[0], markersize=3.5, label=OURS, clip_on=False)
    for place, row in zip(places, rows, strict=True):
        axes.annotate(
            f"{number_text(row.theirs)} | {number_text(row.ours)}",
            (1, place),
            (8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize="small",
            annotation_clip=False,
        )
    _scale(axes, [value for value in (*theirs, *ours) if not isnan(value)])
    axes.set_yticks(list(places), [_short(row.name) for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(unit, labelpad=1)
    axes.grid(axis="x")


def _scale(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis where the numbers need one; 0 is on every other."""
    if min(values) > 0 and max(values) > _WIDE * min(values):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.axvline(0, color="0.6", linewidth=0.6, zorder=0)


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
