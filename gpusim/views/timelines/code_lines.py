"""What lines of code, or arrays, have cost: a bar for each, in parts by array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.results.blame import COSTS, UNKNOWN_LINE, blame
from gpusim.views.plots import PALETTE, new_figure
from gpusim.views.plots.style import HATCHES, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusim.results import Result

_MOST_BARS = 20
_MOST_ARRAYS = 7
_OTHERS = "others"
_BAR_INCHES = 0.22
_BESIDE_INCHES = 0.7


@styled
def draw_code_lines(
    result: Result, cost: str = "tlb_misses", *, by: str = "line", ax: Axes | None = None
) -> Axes:
    """Draw what each line of code has cost, the most expensive first, in parts by array.

    Args:
        result: a run with the record `blame`.
        cost: one of `gpusim.results.blame.COSTS`.
        by: ``"line"``; or ``"array"``, ``"instruction"`` for bars of these.
        ax: where to draw; default: a new figure, as wide as a page.

    Raises:
        UserError: nothing was recorded, or there is no such cost.
    """
    parts = _parts(result, cost, by)
    if ax is None:
        height = _BESIDE_INCHES + _BAR_INCHES * max(len(parts), 3)
        ax = new_figure("page", height).subplots()
    left = parts.sum(axis=1) * 0
    for number, name in enumerate(parts.columns):
        ax.barh(
            parts.index,
            parts[name],
            left=left,
            label=name,
            color=PALETTE[number % len(PALETTE)],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="black",
            linewidth=0.4,
        )
        left = left + parts[name]
    ax.invert_yaxis()
    ax.set_xlabel(COSTS[cost])
    run = result.provenance
    ax.set_title(f"{run.workload} on {run.machine}", loc="left")
    if by != "array":
        ax.legend(title="array", loc="lower right")
    return ax


def _parts(result: Result, cost: str, by: str) -> pd.DataFrame:
    """A row a bar, a column an array."""
    found = blame(result, "both" if by == "line" else by, cost)
    if by == "instruction":
        found["line"] = found.line + "  " + found.instruction
    if by == "array":
        found["line"] = found.array
    if "array" not in found or by == "array":
        found["array"] = ""
    if set(found.line) == {UNKNOWN_LINE}:
        found["line"] = "places in the code are not known"
    if found.app.nunique() > 1:
        found["line"] = found.app + ": " + found.line
    parts = found.pivot_table(
        index="line", columns="array", values=cost, aggfunc="sum", fill_value=0, sort=False
    )
    largest = parts.sum(axis=1).sort_values(ascending=False, kind="stable").index[:_MOST_BARS]
    arrays = parts.sum().sort_values(ascending=False, kind="stable").index.tolist()
    parts = parts.loc[largest, arrays]
    parts = parts[parts.any(axis=1)]
    if len(arrays) > _MOST_ARRAYS:
        others = arrays[_MOST_ARRAYS - 1 :]
        parts[_OTHERS] = parts[others].sum(axis=1)
        parts = parts.drop(columns=others)
    return parts
