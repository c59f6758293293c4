"""The timeline of a run as a picture inside the page, and what recording would add to the page."""

from __future__ import annotations

import base64
import io
from textwrap import fill
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.results import DRAWN, RECORDS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from gpusim.results import Result
    from gpusim.views.plots import PlotFigure
    from gpusim.views.timelines import Window

_DPI = 200
_HEIGHT, _LETTERS = 1.0, 16
"""Height of a panel in inches, and letters beside it."""

_SHOWS = {
    "intervals": "what the warps did over time",
    "walks": "page walks over time, and the slowest of them",
    "dram": "DRAM traffic and queues over time",
    "requests": "the pages whose translation was waited for most, and transactions over time",
    "tlb": "TLB hit rates over time",
}


@frozen
class Picture:
    """A picture.

    Attributes:
        source: a data URI.
        text: what is to be seen, in words.
        width, height: in pixels.
    """

    source: str
    text: str
    width: int
    height: int


def missing_records(result: Result) -> dict[str, str]:
    """What was not recorded, and what it would show."""
    return {record: _SHOWS[record] for record in DRAWN if RECORDS[record][0] not in result.tables}


def timeline_picture(result: Result) -> Picture | None:
    """What was recorded, over the cycles of the run; None if nothing was."""
    from gpusim.views.plots import style
    from gpusim.views.timelines import window_of

    recorded = [record for record in DRAWN if record not in missing_records(result)]
    if not recorded:
        return None
    window = window_of(result)
    stream = io.BytesIO()
    with style():
        figure = _figure(result, window)
        figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    width, height = (figure.get_size_inches() * _DPI).astype(int).tolist()
    shown = "; ".join(_SHOWS[record] for record in recorded)
    return Picture(
        f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}",
        f"Timeline of {window.end:,} cycles in bins of {window.bin_cycles:,}: {shown}.",
        width,
        height,
    )


def _figure(result: Result, window: Window) -> PlotFigure:
    """All panels where intervals were recorded; without them, lines of everything else."""
    from gpusim.views.plots import step_lines
    from gpusim.views.plots.labels import label_of
    from gpusim.views.timelines import activity
    from gpusim.views.timelines.picture import (
        Panel,
        draw_panels,
        draw_timeline,
        heading,
        launch_panel,
    )
    from gpusim.views.timelines.window import ALL_WARPS

    if "intervals" in result.tables:
        return draw_timeline(result, window)

    def line_panel(data: xr.DataArray) -> Panel:
        lines = data.sum("state", keep_attrs=True) if "state" in data.dims else data

        def draw(axes: Axes) -> None:
            step_lines(lines, end=window.end, ax=axes)
            axes.set_ylim(bottom=0)

        return Panel(_HEIGHT, fill(label_of(data), _LETTERS), draw)

    panels = launch_panel(result, window, ALL_WARPS)
    panels += [line_panel(data) for data in activity(result, window).values()]
    return draw_panels(panels, window, heading(result))
