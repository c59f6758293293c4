"""Pictures that figures of several papers are drawn as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.studies.reproduce.measures import AVERAGE
from gpusim.views.plots import (
    bar_groups,
    height_of_dots,
    new_figure,
    sorted_dots,
    sweep_lines,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

CROWDED = 20
"""Bars of more programs than this are too thin to be told apart: they become rows of dots."""

_HEIGHT = 2.4
"""Inches of a panel of bars."""


@frozen
class Bars:
    """A panel: programs by designs.

    Attributes:
        table: a row a program; rows that begin with `AVERAGE` are means over them.
        label: of the numbers.
        line: a column that is a line at 1, by which the others are divided; None: the numbers
            themselves.
        geomean: geometric means over the programs, too.
        limit: end of the axis; what is beyond tells its value.
    """

    table: pd.DataFrame
    label: str
    line: str | None = None
    geomean: bool = False
    limit: float | None = None


def bars(
    table: pd.DataFrame, ylabel: str, *, line: str | None = None, geomean: bool = True
) -> Picture:
    """Groups of bars; with one column as a line at 1, and geometric means of the others.

    More than `CROWDED` programs become rows of dots, sorted by the last column.
    """
    return panels(Bars(table, ylabel, line, geomean and line is not None))


def panels(*parts: Bars) -> Picture:
    """Panels of bars below each other; crowded ones are dots, side by side, in one order.

    Args:
        parts: all of the same programs.  Rows of dots are sorted by the last design of the last.
    """
    programs, means = _rows(parts[-1].table)
    if len(programs) <= CROWDED:
        figure = new_figure("page", height=_HEIGHT * len(parts))
        for part, axes in zip(parts, figure.subplots(len(parts), squeeze=False).flat, strict=True):
            bar_groups(
                part.table,
                baseline=part.line,
                geomean=part.geomean,
                limit=part.limit,
                ylabel=part.label,
                ax=axes,
            )
        return figure
    shown = parts[-1].table.drop(columns=parts[-1].line or [])
    by_last = shown.loc[programs].sort_values(shown.columns[-1], ascending=False, kind="stable")
    order = [*by_last.index, *means]
    rows = len(order) + any(part.geomean for part in parts)
    figure = new_figure("page", height=height_of_dots(rows))
    for number, axes in enumerate(figure.subplots(1, len(parts), squeeze=False).flat):
        part = parts[number]
        sorted_dots(
            part.table.loc[order],
            baseline=part.line,
            geomean=part.geomean,
            last=means,
            limit=part.limit,
            xlabel=part.label,
            sort=False,
            ax=axes,
        )
        axes.set_ylim(rows - 0.4, -0.6)  # as high in all panels
    return figure


def _rows(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Names of the programs, and of the means over them."""
    means = [name for name in table.index if str(name).startswith(AVERAGE)]
    return [name for name in table.index if name not in means], means


def lines(table: pd.DataFrame, xlabel: str, ylabel: str) -> Picture:
    """A line a column over a parameter."""
    figure = new_figure("page", height=2.4)
    sweep_lines(table, xlabel=xlabel, ylabel=ylabel, ax=figure.subplots())
    return figure
