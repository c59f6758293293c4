"""Warps as tracks: what each of them did, or waited for."""

from __future__ import annotations

from collections.abc import Mapping

from gpusim.results import Result
from gpusim.views.perfetto.arrows import Arrows
from gpusim.views.perfetto.packets import TraceWriter
from gpusim.views.perfetto.view import View


def write_warps(
    writer: TraceWriter, result: Result, view: View, arrows: Arrows, sms: Mapping[int, int]
) -> None:
    """All intervals of the view, each warp on a track of its own.

    Args:
        writer: where they go.
        result: a run with recorded `intervals`.
        view: what is wanted of it.
        arrows: which intervals are joined with page walks.
        sms: tracks of the SMs.
    """
    apps = result.applications.name.tolist()
    labels = [writer.label(*state) for state in zip(result.states, result.families, strict=True)]
    tracks: dict[int, int] = {}
    for chunk in result.chunks("intervals"):
        kept = view.within(chunk[chunk.sm.isin(view.sms)], "begin", "end")
        names = ("sm", "warp", "slot", "app", "state", "begin", "end")
        columns = (kept[name].tolist() for name in names)
        flows = arrows.from_intervals(kept.index.to_numpy()).tolist()
        for sm, warp, slot, app, state, begin, end, flow in zip(*columns, flows, strict=True):
            if warp not in tracks:
                name = f"warp {warp} (slot {slot}, {apps[app]})"
                tracks[warp] = writer.track(name, sms[sm], rank=warp)
            writer.slice(tracks[warp], labels[state], begin, end, flow)
