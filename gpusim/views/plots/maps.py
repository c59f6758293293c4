"""Two dimensions and a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import cycle_ticks, label_of, name_values, text_of
from gpusim.views.plots.powers_of_two import are_bytes, are_powers_of_two, power_name
from gpusim.views.plots.style import Frame, axes_or_new, styled
from gpusim.views.plots.time import CYCLE, bin_edges

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axis import Axis

COLOURS = "viridis"
"""Perceptually uniform, rising in lightness: reads in grey and for all eyes."""

_ALL = 16
"""Powers of two up to which each one has a label."""

MISSING = "////"
"""The hatch that shows where no number is: no colour of the map looks like it, nor a grey."""


@styled
def heat_map(
    data: xr.DataArray | pd.DataFrame,
    *,
    low: float | None = None,
    high: float | None = None,
    label: str = "",
    **frame: Unpack[Frame],
) -> Axes:
    """A map of numbers: rows upward, columns to the right; what is missing (NaN) is hatched.

    A dimension ``cycle`` goes to the right, exact to the bin; of all others each value takes one
    step.

    Args:
        data: two dimensions, or a table.
        low: number of the darkest colour; default: the smallest.
        high: number of the brightest colour; default: the largest.
        label: of the colours; default: long name and units of the array.
        **frame: as `Frame`; the defaults of `xlabel` and `ylabel` are names of columns and rows, or
            long names and units of the dimensions, and a new figure is a page wide.

    Raises:
        PlotError: there are not two dimensions, or there is nothing to draw.
    """
    table = _as_array(data)
    if not table.size or not np.isfinite(table.to_numpy().astype(float)).any():
        raise PlotError("nothing to draw: no numbers")
    rows, columns = (table[name] for name in table.dims)
    timeline = columns.name == CYCLE
    edges = bin_edges(table) if timeline else np.arange(columns.size + 1) - 0.5
    axes = axes_or_new(frame.get("ax"), "page")
    mesh = axes.pcolormesh(
        edges,
        np.arange(rows.size + 1) - 0.5,
        table.to_numpy().astype(float),
        vmin=low,
        vmax=high,
        cmap=COLOURS,
        rasterized=True,
    )
    axes.patch.set(hatch=MISSING, edgecolor="0.7", linewidth=0)
    xlabel = frame.get("xlabel") or label_of(columns)
    ylabel = frame.get("ylabel") or label_of(rows)
    if timeline:
        cycle_ticks(axes)
    else:
        _name_steps(axes.xaxis, columns, xlabel)
    _name_steps(axes.yaxis, rows, ylabel)
    axes.set_xlabel(xlabel)
    name_values(axes, ylabel)
    axes.set_title(frame.get("title", ""), loc="left")
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.02)
    name_values(bar.ax, label or label_of(table))
    bar.outline.set_visible(False)
    return axes


def _as_array(data: xr.DataArray | pd.DataFrame) -> xr.DataArray:
    """Rows first, cycles last.

    Raises:
        PlotError: there are not two dimensions.
    """
    if isinstance(data, pd.DataFrame):
        import xarray as xr

        rows, columns = (
            text_of(labels.name, default)
            for labels, default in ((data.index, "row"), (data.columns, "column"))
        )
        coords = {rows: data.index.to_numpy(), columns: data.columns.to_numpy()}
        return xr.DataArray(data.to_numpy(), coords, dims=(rows, columns))
    if data.ndim != 2:
        raise PlotError(f"dimensions {', '.join(map(str, data.dims)) or 'none'}; needed: two")
    return data.transpose(..., CYCLE) if CYCLE in data.dims else data


def _name_steps(axis: Axis, values: xr.DataArray, label: str) -> None:
    """Names of the steps, powers of two as sizes; of many numbers only some."""
    numbers = pd.api.types.is_numeric_dtype(values.dtype)
    sizes = numbers and are_powers_of_two(values.to_numpy().astype(float))
    names = [power_name(one, are_bytes(label)) if sizes else str(one) for one in values.to_numpy()]
    if numbers and not (sizes and len(names) <= _ALL):
        axis.set_major_locator(MaxNLocator(8, integer=True))
    else:
        axis.set_major_locator(FixedLocator(range(len(names))))
    axis.set_major_formatter(
        FuncFormatter(lambda step, _: names[int(step)] if 0 <= step < len(names) else "")
    )
