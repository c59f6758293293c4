"""Line plots: a result over a parameter, one line a program."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from gpusim.core.intervals import Interval, bootstrap_interval
from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import label_of, legend_above, name_ticks, name_values, text_of
from gpusim.views.plots.powers_of_two import are_bytes, are_powers_of_two, power_ticks
from gpusim.views.plots.style import LINES, MARKERS, axes_or_new, styled

if TYPE_CHECKING:
    import xarray as xr

SEED = "seed"
"""Column, level of the index, or dimension over which runs are repeated."""


@styled
def sweep_lines(
    data: pd.DataFrame | xr.DataArray,
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Lines over a swept parameter; its axis is one of powers of two if all its values are.

    It is labelled in sizes then: 64, 8K; 8 KiB where the label says bytes.
    With a column, a level of the index, or a dimension ``seed``, lines are means over the seeds,
    and bands are their 95 % intervals (bootstrap).  What is missing (NaN) is a gap.

    Args:
        data: a table (index: the parameter, columns: the lines), or an array (first dimension: the
            parameter; second, if there is one: the lines).
        xlabel: default: name of the index; long name and units of the dimension.
        ylabel: default: long name and units of the array.
        title: above the legend.
        ax: default: a new figure, one column wide.

    Raises:
        PlotError: there are more dimensions, or there is nothing to draw.
    """
    table = data if isinstance(data, pd.DataFrame) else _as_table(data)
    if table.empty:
        raise PlotError("nothing to draw: no values of the parameter, or no lines")
    middle, low, high = _over_seeds(table)
    axes = axes_or_new(ax)
    label = xlabel or _label_of_parameter(data, middle)
    numeric = pd.api.types.is_numeric_dtype(middle.index)
    values = middle.index.to_numpy(float) if numeric else np.arange(len(middle), dtype=float)
    _draw_lines(axes, values, middle, low, high)
    if not numeric:
        name_ticks(axes, values.tolist(), middle.index)
    elif are_powers_of_two(values):
        axes.set_xscale("log", base=2)
        power_ticks(axes, values.min(), values.max(), are_bytes(label))
    axes.grid()
    axes.set_xlabel(label)
    name_values(axes, ylabel or ("" if isinstance(data, pd.DataFrame) else label_of(data)))
    legend_above(axes, title)
    return axes


def _draw_lines(
    axes: Axes,
    values: NDArray[np.float64],
    middle: pd.DataFrame,
    low: pd.DataFrame,
    high: pd.DataFrame,
) -> None:
    """All lines over the values of the parameter, and their bands where there are intervals."""
    for number, name in enumerate(middle.columns):
        colour = PALETTE[number % len(PALETTE)]
        axes.plot(
            values,
            middle[name].to_numpy(),
            color=colour,
            label=str(name),
            linestyle=LINES[number % len(LINES)],
            marker=MARKERS[number % len(MARKERS)],
        )
        if not low[name].equals(high[name]):
            axes.fill_between(
                values,
                low[name].to_numpy(),
                high[name].to_numpy(),
                color=colour,
                alpha=0.2,
                linewidth=0,
            )


def _as_table(data: xr.DataArray) -> pd.DataFrame:
    """An array as a table of the parameter by lines; seeds are a level of its index.

    Raises:
        PlotError: it has more dimensions.
    """
    dims = [str(dim) for dim in data.dims if dim != SEED]
    if not 1 <= len(dims) <= 2:
        raise PlotError(
            f"dimensions {', '.join(map(str, data.dims)) or 'none'}; needed: the parameter, then "
            f"the lines if there are several, and {SEED!r} for repeated runs"
        )
    if len(dims) == 1:
        data = data.expand_dims("line", -1).assign_coords(line=[text_of(data.name)])
    seeds = [SEED] if SEED in data.dims else []
    x, line = dims[0], dims[1] if len(dims) == 2 else "line"
    ordered = data.transpose(x, *seeds, line)
    rows = [ordered.get_index(name) for name in (x, *seeds)]
    index = pd.MultiIndex.from_product(rows, names=[x, *seeds]) if seeds else rows[0].rename(x)
    numbers = ordered.to_numpy().reshape(-1, ordered.sizes[line])
    return pd.DataFrame(numbers, index, ordered.get_index(line))


def _over_seeds(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Means and their intervals; numbers of the parameter ascend, names stay in order."""
    lines = table.drop(columns=SEED) if SEED in table else table
    if SEED in lines.index.names:
        lines = lines.reset_index(SEED, drop=True)
    numeric = pd.api.types.is_numeric_dtype(lines.index)
    by_value = lines.groupby(level=0, sort=numeric)
    if by_value.size().max() == 1:
        means = by_value.mean()
        return means, means, means
    found = by_value.agg(_interval)
    means, low, high = (found.map(attrgetter(name)) for name in ("mean", "low", "high"))
    return means, low, high


def _interval(values: pd.Series[Any]) -> Interval:
    return bootstrap_interval(values.to_numpy(np.float64))


def _label_of_parameter(data: pd.DataFrame | xr.DataArray, middle: pd.DataFrame) -> str:
    name = middle.index.name
    if isinstance(data, pd.DataFrame) or name not in data.coords:
        return text_of(name)
    return label_of(data[name])
