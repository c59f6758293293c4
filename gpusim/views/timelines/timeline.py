"""The timeline of a run: the states of its warps and the activity of the machine over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.views.timelines.activity import dataset, of_memory, of_warps
from gpusim.views.timelines.events import selectable
from gpusim.views.timelines.stalls import stalls
from gpusim.views.timelines.window import ALL_WARPS, Selection, Window

if TYPE_CHECKING:
    import xarray as xr

    from gpusim.results.result import Result


def timeline(result: Result, window: Window, selection: Selection = ALL_WARPS) -> xr.Dataset:
    """The stalls as the variable `warp_cycles`, and the variables of the activity beside it.

    Raises:
        UserError: the run has no intervals, or there is no such SM, warp or application.
    """
    warp_cycles = stalls(result, window, selection)
    found = of_memory(result, window, selectable(result, selection))
    whole = dataset(result, window, of_warps(warp_cycles, window) | found)
    return whole.assign(warp_cycles=warp_cycles)
