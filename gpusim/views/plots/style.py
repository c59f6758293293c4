"""One style for all pictures: sizes for print, and figures that keep to it until they are drawn.

No function touches pyplot, so pictures do not pile up and no window opens.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from inspect import signature
from typing import Any, Literal, ParamSpec, TypedDict

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure

from gpusim.core.errors import nearest
from gpusim.views.plots.errors import PlotError

Width = Literal["column", "page"]

WIDTHS: Mapping[str, float] = {"column": 3.3, "page": 7.0}
"""Inches: a column, and both columns, of a two-column paper."""

HEIGHT = 2.3
"""Default height of a figure, in inches."""

LINES = ("-", "--", "-.", ":")
MARKERS = "os^Dv<>"
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
"""For lines and bars: seven, and colours are 16, so that looks repeat after 112 designs only."""

DPI = 300
"""Dots an inch of a picture in a file: twice those that a screen has for its size."""

STYLE: dict[Any, Any] = {
    "figure.dpi": DPI // 2,
    "savefig.dpi": DPI,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.labelspacing": 0.3,
    "legend.columnspacing": 1.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,  # text stays text; publishers refuse Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "gpusim",
}

P = ParamSpec("P")


class Frame(TypedDict, total=False):
    """What stands around a plot: keywords that plots share.

    Attributes:
        title: above the axes, or above their legend.
        xlabel, ylabel: of the axes, with the unit.
        ax: to draw into; default: a new figure.
    """

    title: str
    xlabel: str
    ylabel: str
    ax: Axes | None


def style() -> AbstractContextManager[None]:
    """The style as a context, for what you add to a picture yourself: titles, legends."""
    return rc_context(STYLE)


class PlotFigure(Figure):
    """A figure in the project's style; as the last value of a notebook's cell it shows itself."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        with style():
            return super().add_subplot(*args, **kwargs)

    def draw(self, renderer: RendererBase) -> None:
        with style():  # ticks are made only now
            super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Twice the dots of the size that it is shown at: sharp on screens of today."""
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=2 * self.dpi)
        width, height = (self.get_size_inches() * self.dpi).round().astype(int).tolist()
        return picture.getvalue(), {"width": width, "height": height}


def new_figure(width: Width = "column", height: float = HEIGHT) -> PlotFigure:
    """An empty figure; take its ``subplots()``.

    Args:
        width: of a column (3.3 inches) or of a page with two (7 inches).
        height: inches.

    Raises:
        PlotError: no such width.
    """
    if width not in WIDTHS:
        raise PlotError(
            f"a figure as wide as {width!r}{nearest(width, WIDTHS)}; allowed: {', '.join(WIDTHS)}"
        )
    with style():
        return PlotFigure(figsize=(WIDTHS[width], height), layout="constrained")


def styled(draw: Callable[P, Axes]) -> Callable[P, Axes]:
    """Let a function draw in the project's style; it takes no keywords that it does not know."""
    known = {*signature(draw).parameters, *Frame.__annotations__} - {"frame"}

    @wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> Axes:
        for name in kwargs:
            if name not in known:
                raise TypeError(f"{draw.__name__}() has no option {name!r}{nearest(name, known)}")
        with style():
            return draw(*args, **kwargs)

    return in_style


def axes_or_new(ax: Axes | None, width: Width = "column") -> Axes:
    """The axes to draw into: those given, or those of a new figure."""
    return new_figure(width).subplots() if ax is None else ax
