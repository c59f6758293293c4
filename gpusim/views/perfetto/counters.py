"""Counter tracks: how busy the machine was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.results import Result
from gpusim.views.perfetto.packets import TraceWriter
from gpusim.views.perfetto.view import View
from gpusim.views.timelines import Window, timeline
from gpusim.views.timelines.binning import Occupancy


@frozen(eq=False)
class Counter:
    """A counter.

    Attributes:
        name: what it counts.
        unit: of its values.
        values: one for each bin; NaN where there is none.
        of_dram: whether it belongs to DRAM, rather than to the GPU as a whole.
    """

    name: str
    unit: str
    values: NDArray[np.float64]
    of_dram: bool


def write_counters(
    writer: TraceWriter, result: Result, view: View, gpu: int, dram: int | None
) -> None:
    """Means and rates over the bins of the view, of all SMs; what is always 0 is left out.

    Args:
        writer: where they go.
        result: a run with recorded `intervals`; whatever else was recorded gives more counters.
        view: which cycles are wanted.
        gpu: the track under which the counters stand,
        dram: and that of those of DRAM, if its requests were recorded.
    """
    cycles = view.window.edges[:-1]
    for counter in _counters(result, view.window):
        values = counter.values
        if not np.nan_to_num(values).any():
            continue
        parent = dram if counter.of_dram and dram is not None else gpu
        track = writer.track(counter.name, parent, unit=counter.unit)
        known = ~np.isnan(values)
        changed = known & np.append(True, values[1:] != values[:-1])
        for cycle, value in zip(cycles[changed].tolist(), values[changed].tolist(), strict=True):
            writer.count(track, cycle, value)


def _counters(result: Result, window: Window) -> Iterator[Counter]:
    found = timeline(result, window)
    waits = [result.states[state] for state in result.translation_states]
    stalled = found.warp_cycles.sel(state=waits).sum("state").to_numpy() / window.widths
    yield Counter("warps stalled on translation", "warps", stalled, of_dram=False)
    for name in map(str, found.data_vars):
        variable = found[name]
        if name == "warp_cycles":
            continue
        what, unit = str(variable.long_name), str(variable.units)
        of_dram = name.startswith("dram_")
        if variable.ndim == 1:
            yield Counter(what, unit, variable.to_numpy(), of_dram)
        else:
            labels = variable[variable.dims[1]].to_numpy().tolist()
            for label, values in zip(labels, variable.to_numpy().T, strict=True):
                yield Counter(f"{what}: {label}", unit, values, of_dram)
    if "dram" in result.tables:
        for channel, waiting in enumerate(_queues(result, window)):
            yield Counter(f"queue of channel {channel}", "requests", waiting, of_dram=True)


def _queues(result: Result, window: Window) -> NDArray[np.float64]:
    """Mean number of requests that wait in each channel: ``(channels, bins)``."""
    counters = result.counters
    channels = counters[counters.component == "dram"].instance.nunique()
    found = Occupancy(window, channels)
    for chunk in result.chunks("dram", ["channel", "accepted", "issued"]):
        found.add(*(chunk[name].to_numpy() for name in ("accepted", "issued", "channel")))
    return found.cycles().T / window.widths
