"""Pictures that figures of several papers are drawn as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.views.plots import bar_groups, new_figure, sweep_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def bars(
    table: pd.DataFrame, ylabel: str, *, line: str | None = None, geomean: bool = True
) -> Picture:
    """Groups of bars; with one column as a line at 1, and geometric means of the others."""
    figure = new_figure("page", height=2.4)
    means = geomean and line is not None
    bar_groups(table, baseline=line, geomean=means, ylabel=ylabel, ax=figure.subplots())
    return figure


def lines(table: pd.DataFrame, xlabel: str, ylabel: str) -> Picture:
    """A line a column over a parameter."""
    figure = new_figure("page", height=2.4)
    sweep_lines(table, xlabel=xlabel, ylabel=ylabel, ax=figure.subplots())
    return figure
