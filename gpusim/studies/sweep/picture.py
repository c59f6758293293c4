"""The picture that a sweep's definition asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.studies.sweep.pairs import gains_of
from gpusim.studies.sweep.point import SHARED, as_text
from gpusim.studies.sweep.results import SweepResults
from gpusim.studies.sweep.spec import PlotTable, Sweep

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_COLUMNS = 3
_BESIDE = 6
"""Lines whose legend stands above the panels; the legend of more is at the right."""

_PANEL_HEIGHT = 1.9
_HEAD = 0.6
_CELL, _MATRIX_HEAD = 0.36, 1.6


def draw_sweep(results: SweepResults, sweep: Sweep, kind: str = "png") -> Path | None:
    """Draw ``sweep.plot`` beside the sweep's table; nothing if no run is done.

    Args:
        results: of the sweep.
        sweep: what was run, and what is to be drawn.
        kind: of the picture, such as ``"png"`` or ``"svg"``.

    Returns:
        the picture.

    Raises:
        UserError: the plot does not fit the sweep, or the picture cannot be written.
    """
    from gpusim.views.plots import new_figure, save

    assert sweep.plot is not None
    if not (results.table["state"] == "done").any():
        return None
    if sweep.pairs:
        figure = _matrix(results, sweep.plot.value, sweep.variants)
    else:
        data = values_to_draw(results, sweep.plot)
        panels = data.sizes.get(sweep.plot.panels, 1)
        rows = -(-panels // _COLUMNS)
        figure = new_figure("page", height=rows * _PANEL_HEIGHT + _HEAD)
        _draw(figure, data, sweep.plot, rows)
    path = results.folder / f"{results.name}.{kind}"
    save(figure, path)
    return path


def _matrix(results: SweepResults, value: str, variants: Sequence[str]) -> Figure:
    """What variants gain alone and in pairs."""
    from gpusim.views.plots import new_figure, pair_matrix

    pairs = gains_of(results, value, variants)
    figure = new_figure("page", height=_MATRIX_HEAD + _CELL * len(pairs.gains))
    pair_matrix(
        pairs.gains,
        pairs.beyond,
        ax=figure.subplots(),
        title=f"gain in {value}, %: alone (diagonal), together (below it); above it: percentage "
        "points beyond\n"
        "the product of both gains; hatched: the two do not make one machine",
    )
    return figure


def _draw(figure: Figure, data: xr.DataArray, plot: PlotTable, rows: int) -> None:
    """A panel each, the axes' names once, and one legend for all."""
    from gpusim.views.plots import style, sweep_lines

    panels = data[plot.panels].values.tolist() if plot.panels else [None]
    with style():
        grid = figure.subplots(rows, min(len(panels), _COLUMNS), squeeze=False, sharey=True)
        for ax, panel in zip(grid.flat, panels, strict=False):
            part = data if panel is None else data.sel({plot.panels: panel}, drop=True)
            sweep_lines(part, xlabel=" ", ylabel=" ", ax=ax)
            ax.set_title("" if panel is None else str(panel))
            if legend := ax.get_legend():
                legend.remove()
        for ax in grid.flat[len(panels) :]:
            ax.remove()
        grid.flat[0].set_ylim(bottom=0)
        figure.supxlabel(plot.x, fontsize="medium")
        figure.supylabel(data.attrs["long_name"], fontsize="medium")
        lines, names = grid.flat[0].get_legend_handles_labels()
        if plot.lines:
            few = len(names) <= _BESIDE
            figure.legend(
                lines,
                names,
                title=plot.lines,
                ncols=len(names) if few else 1,
                loc="outside upper center" if few else "outside right upper",
            )


def values_to_draw(results: SweepResults, plot: PlotTable) -> xr.DataArray:
    """The plot's value, relative to what it says, with the dimensions panels, x and lines.

    Only runs as their workloads say count, not those of single applications alone.

    Raises:
        UserError: the sweep has no such number.
    """
    table = results.table
    data = results.array(plot.value, table[table["role"] == SHARED])
    chosen = [name for name in (plot.panels, plot.x, plot.lines) if name]
    for name in (*chosen, *plot.relative_to):
        if name in data.coords and name not in data.dims:  # it changes together with another key
            data = data.swap_dims({data[name].dims[0]: name})
    if plot.relative_to:
        where = {name: _of_axis(data, name, value) for name, value in plot.relative_to.items()}
        data = data / data.sel(where, drop=True)
        text = ", ".join(f"{name} = {value}" for name, value in where.items())
        data.attrs.update(long_name=f"{plot.value}, relative to {text}", units="")
    return data.transpose(*chosen, ...)


def _of_axis(data: xr.DataArray, name: str, value: object) -> object:
    """A value as the axis has it: all are text where numbers and names are mixed."""
    values = data[name].values.tolist()
    return next((one for one in values if as_text(one) == as_text(value)), value)
