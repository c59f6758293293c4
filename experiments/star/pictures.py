"""Pictures of STAR's shares: lines, a panel a workload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpusim.views.plots import new_figure, sweep_lines
from gpusim.views.plots.labels import legend_above

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def share_lines(
    tables: Mapping[str, pd.DataFrame], xlabel: str, ylabel: str, *, mark: float | None = None
) -> Picture:
    """Lines over the columns of some tables, a line a row, a panel a table; two side by side.

    The values are shares; a vertical line marks the capacity.
    """
    lines = -(-len(tables) // 2)
    figure = new_figure("page", height=2.8 * lines)
    axes = figure.subplots(lines, min(2, len(tables)), squeeze=False).ravel()
    for place, (title, table) in zip(axes, tables.items(), strict=False):
        drawn = table.dropna(how="all").T
        if drawn.empty:
            place.set_title(f"{title}: none", loc="left")
        else:
            sweep_lines(drawn, xlabel=xlabel, ylabel=ylabel, title=title, ax=place)
        place.set_ylim(0, 1.02)
        if mark is not None:
            place.axvline(mark, color="0.4", linewidth=0.8, label="capacity")
            legend_above(place, title)
    for place in axes[len(tables) :]:
        place.remove()
    return figure


def rows_by_workload(table: pd.DataFrame, workloads: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The rows of each workload, by the names of its applications."""
    return {
        name: table[table.index.str.startswith(f"{name}.")].rename(
            lambda row: row.partition(".")[2]
        )
        for name in workloads
    }
