"""Tornado plots: how far a result moves with each assumption."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Unpack

from matplotlib.axes import Axes

from gpusim.views.plots.colours import PALETTE
from gpusim.views.plots.errors import PlotError
from gpusim.views.plots.labels import legend_above, name_values, number_text
from gpusim.views.plots.reference_rows import THEIRS
from gpusim.views.plots.style import Frame, axes_or_new, styled

_BAR = 0.7
_NAME = 32
"""Letters of a name."""
_MARGIN = 0.2
"""Room for a number on either side, as a share of what is drawn."""


@styled
def tornado(
    readings: Mapping[str, float],
    taken: float,
    *,
    stated: float | None = None,
    interval: tuple[float, float] | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Bars from the result as it is to what it would be with another assumption, one a row.

    A bar ends at its number, which stands there unless it is that of the result as it is.

    Rows keep their order, so that several tornadoes can share an axis, and a legend of the figure.

    Args:
        readings: by name, the result with one assumption changed; NaN: no bar.
        taken: the result as it is.
        stated: the paper's, a dashed line.
        interval: of the result as it is, a grey band.
        **frame: as `Frame`; `xlabel` says what the result is, and a new figure is one column wide.

    Raises:
        PlotError: there are no readings, or the result is not a number.
    """
    if not readings or isnan(taken):
        raise PlotError("nothing to draw: no readings, or no result to compare them with")
    ax, title = frame.get("ax"), frame.get("title", "")
    axes = axes_or_new(ax)
    if interval is not None:
        axes.axvspan(*interval, color="0.88", linewidth=0, label="interval")
    places = range(len(readings))
    widths = [0.0 if isnan(value) else value - taken for value in readings.values()]
    axes.barh(list(places), widths, left=taken, height=_BAR, color=PALETTE[0])
    axes.margins(x=_MARGIN)
    for place, width in zip(places, widths, strict=True):
        _tell(axes, taken, width, place)
    axes.axvline(taken, color="black", linewidth=0.8, label="as it is")
    if stated is not None:
        axes.axvline(stated, color=PALETTE[1], linestyle="--", linewidth=1.0, label=THEIRS)
    names = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in readings]
    axes.set_yticks(list(places), names)
    axes.set_ylim(len(readings) - 0.5, -0.5)
    axes.set_xlabel(frame.get("xlabel", ""))
    name_values(axes, frame.get("ylabel", ""))
    if ax is None:
        legend_above(axes, title)
    else:
        axes.set_title(title)
    axes.grid(axis="x")
    return axes


def _tell(axes: Axes, taken: float, width: float, place: int) -> None:
    """The number at the end of a bar, where it is not that of the result as it is."""
    text = number_text(taken + width)
    if text == number_text(taken):
        return
    axes.annotate(
        text,
        (taken + width, place),
        (1.5 if width > 0 else -1.5, 0),
        textcoords="offset points",
        ha="left" if width > 0 else "right",
        va="center",
        fontsize="xx-small",
    )
