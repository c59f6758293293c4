"""Gains of variants alone and in pairs: a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.maps import MISSING
from gpusim.views.plots.style import axes_or_new, styled

if TYPE_CHECKING:
    import pandas as pd

COLOURS = "RdBu"
"""Diverging, from red through white at 0 to blue; tells signs apart for all eyes."""

_DARK = 0.6
"""Share of the colours' range from which on letters are white."""


@styled
def pair_matrix(
    gains: pd.DataFrame, beyond: pd.DataFrame, *, title: str = "", ax: Axes | None = None
) -> Axes:
    """What each gains alone (framed, on the diagonal), and two together (below it).

    Above the diagonal is how many percentage points two gain beyond the product of their gains:
    blue where they help each other, red where one takes away what the other one gains.  What has
    no number is hatched.

    Args:
        gains: (n, n) in percent, the same names along both axes.
        beyond: (n, n) in percentage points.
        title: above the axes.
        ax: default: a new figure, a page wide.

    Raises:
        PlotError: the tables do not fit, or there are no numbers.
    """
    if list(gains.index) != list(gains.columns) or gains.shape != beyond.shape:
        raise PlotError("two square tables with the same names are needed")
    numbers = gains.to_numpy(float).copy()
    above = np.triu_indices(len(numbers), 1)
    numbers[above] = beyond.to_numpy(float)[above]
    found = np.abs(numbers[np.isfinite(numbers)])
    if not found.size:
        raise PlotError("nothing to draw: no numbers")
    limit = max(float(np.quantile(found, 0.95)), 1.0)
    axes = axes_or_new(ax, "page")
    axes.imshow(numbers, vmin=-limit, vmax=limit, cmap=COLOURS)
    axes.patch.set(hatch=MISSING, edgecolor="0.7", linewidth=0)
    for (row, column), number in np.ndenumerate(numbers):
        if np.isfinite(number):
            colour = "white" if abs(number) > _DARK * limit else "black"
            text = f"{number:+.0f}" if abs(number) >= 0.5 else "0"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=6)
    for place in range(len(numbers)):
        axes.add_patch(
            Rectangle(
                (place - 0.5, place - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=1.2
            )
        )
    names = [str(name) for name in gains.index]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.set_title(title, loc="left")
    return axes
