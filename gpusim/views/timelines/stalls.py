"""States of warps over time: what they did, or waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.views.timelines.binning import Occupancy
from gpusim.views.timelines.events import require, rows, selectable
from gpusim.views.timelines.window import ALL_WARPS, Selection, Window

if TYPE_CHECKING:
    import xarray as xr

    from gpusim.results.result import Result


def stalls(result: Result, window: Window, selection: Selection = ALL_WARPS) -> xr.DataArray:
    """Warp-cycles in each state, exact in every bin.

    Where applications are started again until all have run once, all that ran in the window
    counts, unlike in `Result.stall_sums`.

    Returns:
        int64, dimensions ``cycle`` (first cycles of the bins) and ``state``.

    Raises:
        UserError: the run has no intervals, or there is no such SM, warp or application.
    """
    import xarray as xr

    require(result, "intervals")
    among = selectable(result, selection)["intervals"]
    found = Occupancy(window, len(result.states))
    for chunk in rows(result, "intervals", ["state", "begin", "end"], among):
        found.add(*(chunk[name].to_numpy() for name in ("begin", "end", "state")))
    return xr.DataArray(
        found.cycles(),
        dims=("cycle", "state"),
        coords={"cycle": cycle_coordinate(window), "state": list(result.states)},
        name="warp_cycles",
        attrs={
            "units": "warp-cycles",
            "long_name": "cycles of warps in each state",
            "bin_cycles": window.bin_cycles,
        },
    )


def cycle_coordinate(window: Window) -> xr.Variable:
    """The coordinate ``cycle`` of a timeline: the first cycles of the bins."""
    import xarray as xr

    return xr.Variable("cycle", window.edges[:-1], {"units": "cycle", "long_name": "cycle"})
