"""Labels of pictures: axes with units, names below bars, legends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from gpusim.views.plots.style import style

if TYPE_CHECKING:
    import xarray as xr

_LETTER = 0.56
"""Mean width of a letter, in font sizes."""

_LINE = 1.35
"""Height of a line of a legend, in font sizes."""

_ROWS = 3
"""Rows of a legend above the axes, at most."""

_LARGE = 1000

_WITHOUT = ("", "1", "fraction")
"""Units that no label needs."""


def label_of(data: xr.DataArray) -> str:
    """What the data are, and their unit: ``long_name [units]`` as far as they are known."""
    name = str(data.attrs.get("long_name", text_of(data.name)))
    units = str(data.attrs.get("units", ""))
    return name if units in (*_WITHOUT, name) else f"{name} [{units}]".strip()


def text_of(name: Hashable | None, default: str = "") -> str:
    """Name of an index or array as a text; pandas and xarray know None."""
    return default if name is None else str(name)


def number_text(number: float) -> str:
    """Three digits, large numbers in full."""
    if isnan(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= _LARGE else f"{number:.3g}"


def name_ticks(ax: Axes, positions: Sequence[float], names: Iterable[Any]) -> None:
    """Names below bars; slanted if they do not fit side by side."""
    texts = [str(name) for name in names]
    size = _size("small")
    room = _width(ax) / max(len(positions), 1)
    fit = (max((len(text) for text in texts), default=0) + 2) * _LETTER * size < room
    ax.set_xticks(positions, texts)
    if not fit:
        for label in ax.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    ax.tick_params(axis="x", length=0)


def names_that_fit(ax: Axes, letters: int) -> int:
    """How many names of `letters` letters have room side by side below the axes."""
    return int(_width(ax) / ((letters + 1) * _LETTER * _size("small")))


def name_values(ax: Axes, text: str) -> None:
    """Label of the upright axis, in lines that are not longer than the axis."""
    letter = _LETTER * _size("medium")
    ax.set_ylabel(fill(text, max(int(_height(ax) / letter), 1)))


def cycle_ticks(ax: Axes) -> None:
    """Whole cycles below a timeline, with separators between thousands."""
    ax.xaxis.set_major_locator(MaxNLocator(max(int(_width(ax) // 50), 2), integer=True))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def legend_above(ax: Axes, title: str = "") -> None:
    """Legend in rows above the axes, below the title; of many entries to the right of the axes.

    No legend for a single entry that has no name, or that of an axis.
    """
    handles, labels = ax.get_legend_handles_labels()
    with style():  # for a caller that adds a line and calls this again
        if not set(labels) - {ax.get_ylabel(), ax.get_xlabel()}:
            ax.set_title(title, loc="left")
            return
        size = _size("small")
        widest = (max(map(len, labels)) * _LETTER + 3.5) * size
        columns = min(max(int(_width(ax) // widest), 1), len(labels))
        rows = -(-len(labels) // columns)
        if rows > _ROWS:
            ax.set_title(title, loc="left")
            ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
            return
        ax.legend(
            handles,
            labels,
            ncols=-(-len(labels) // rows),
            loc="lower left",
            title=title or None,
            alignment="left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
            borderpad=0.2,
        )


def legend_beside(ax: Axes) -> None:
    """Legend to the right of a stack, in its order: the highest part first."""
    handles, labels = ax.get_legend_handles_labels()
    room = 1.2 * _height(ax) / (_LINE * max(len(labels), 1))
    ax.legend(
        handles[::-1],
        labels[::-1],
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        handlelength=1,
        handleheight=1,
        fontsize=min(_size("small"), room),
    )


def _size(name: str) -> float:
    """Points of a size of the style, such as ``small``."""
    return float(FontProperties(size=name).get_size_in_points())


def _height(ax: Axes) -> float:
    """Height of the axes in points, before the layout."""
    return ax.get_window_extent().height / ax.figure.dpi * 72


def _width(ax: Axes) -> float:
    """Width of the axes in points, before the layout has made room for what stands around."""
    return ax.get_window_extent().width / ax.figure.dpi * 72
