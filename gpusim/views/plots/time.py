"""Pictures over the cycles of a run, exact to the bin: values hold from its first cycle on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from numpy.typing import NDArray

from gpusim.views.plots.colours import PALETTE, part_colours
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import (
    cycle_ticks,
    label_of,
    legend_above,
    legend_beside,
    name_values,
)
from gpusim.views.plots.stacks import hatch_of, parts_of
from gpusim.views.plots.style import LINES, axes_or_new, styled

if TYPE_CHECKING:
    import xarray as xr

CYCLE = "cycle"
"""The dimension whose coordinate holds the first cycles of bins."""


@styled
def stacked_area(
    data: xr.DataArray,
    *,
    end: float | None = None,
    colours: Mapping[str, str] | None = None,
    ylabel: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A stack of parts over time, such as ``gpusim.views.timelines.stalls`` gives them.

    Parts that are nowhere are left out; what is missing (NaN) counts as nothing.

    Args:
        data: numbers, 0 or more; dimensions ``cycle`` and that of the parts (states).
        end: cycle after the last bin; default: that bin is as long as the attribute
            ``bin_cycles`` or the bin before tells.
        colours: of the parts; default: those of the states.
        ylabel: default: long name and units of the data.
        title: above the axes.
        ax: default: a new figure, a page wide.

    Raises:
        PlotError: other dimensions, a number below 0, a part without a colour, nothing to draw.
    """
    values = parts_of(_over_cycles(data))
    fill = part_colours(values.columns, colours)
    tops = values.to_numpy().cumsum(axis=1)
    edges = bin_edges(data, end)
    axes = axes_or_new(ax, "page")
    # Each part is filled down to 0 and covered by those below it: so no seams shine through.
    for number, name in enumerate(values.columns):
        # Unlike axes.stairs, this looks for no limits: it would take minutes for a million bins.
        axes.add_artist(
            StepPatch(
                tops[:, number],
                edges,
                fill=True,
                label=name,
                facecolor=fill[name],
                linewidth=0,
                edgecolor="black",
                hatch=hatch_of(name),
                zorder=2 - number / tops.shape[1],
            )
        )
    axes.set_ylim(0, 1.02 * tops[:, -1].max())
    _finish(axes, data, edges, ylabel)
    axes.set_title(title, loc="left")
    legend_beside(axes)
    return axes


@styled
def step_lines(
    data: xr.DataArray,
    *,
    end: float | None = None,
    ylabel: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Lines over time that are level within each bin; what is missing (NaN) is a gap.

    Args:
        data: dimension ``cycle``, and that of the lines if there are several.
        end: as in `stacked_area`.
        ylabel: default: long name and units of the data.
        title: above the legend.
        ax: default: a new figure, a page wide.

    Raises:
        PlotError: other dimensions.
    """
    table = _over_cycles(
        data if data.ndim == 2 else data.expand_dims("line", 1).assign_coords(line=[""])
    )
    edges = bin_edges(data, end)
    axes = axes_or_new(ax, "page")
    for number, (name, values) in enumerate(table.items()):
        axes.plot(
            edges,
            [*values, values.iloc[-1]],
            drawstyle="steps-post",
            label=str(name),
            linewidth=1,
            color=PALETTE[number % len(PALETTE)],
            linestyle=LINES[number % len(LINES)],
        )
    _finish(axes, data, edges, ylabel)
    axes.grid(axis="y")
    legend_above(axes, title)
    return axes


def bin_edges(data: xr.DataArray, end: float | None = None) -> NDArray[np.float64]:
    """First cycles of the bins, and the cycle after the last: ``(bins + 1,)``."""
    first = data[CYCLE].to_numpy().astype(float)
    if not len(first):
        raise PlotError("nothing to draw: no cycles")
    if end is None:
        before = first[-1] - first[-2] if len(first) > 1 else 1.0
        end = first[-1] + float(data.attrs.get("bin_cycles", before))
    return np.append(first, end)


def _over_cycles(data: xr.DataArray) -> pd.DataFrame:
    """The data as a table of cycles by what is drawn over them.

    Raises:
        PlotError: there are other dimensions.
    """
    if CYCLE not in data.dims or data.ndim != 2:
        raise PlotError(
            f"dimensions {', '.join(map(str, data.dims)) or 'none'}; needed: {CYCLE!r} and one "
            "more, of the parts or lines"
        )
    table = data.transpose(CYCLE, ...)
    cycles, names = (table.get_index(dim) for dim in table.dims)
    return pd.DataFrame(table.to_numpy(), cycles, names)


def _finish(axes: Axes, data: xr.DataArray, edges: NDArray[Any], ylabel: str) -> None:
    axes.set_xlim(edges[0], edges[-1])
    cycle_ticks(axes)
    axes.set_xlabel(label_of(data[CYCLE]))
    name_values(axes, ylabel or label_of(data))
