"""Page walks as slices, on as few tracks as there are walks at a time."""

from __future__ import annotations

from bisect import bisect_right

from gpusim.results import Result
from gpusim.views.perfetto.arrows import Arrows
from gpusim.views.perfetto.packets import TraceWriter
from gpusim.views.perfetto.view import View

_CATEGORY = "translation"


class Lanes:
    """Hands out lanes such that what is on one lane does not overlap.

    Of the lanes that are free when a walk begins, it gets the one that has been free for the
    shortest time.  As walks are asked about in the order in which they end, that takes no more
    lanes than there are ever walks at a time.
    """

    def __init__(self) -> None:
        self._ends: list[int] = []
        self._lanes: list[int] = []

    def take(self, begin: int, end: int) -> int:
        """A lane for the cycles ``[begin, end)``; `end` never decreases."""
        place = bisect_right(self._ends, begin) - 1
        lane = len(self._lanes)
        if place >= 0:
            lane = self._lanes.pop(place)
            del self._ends[place]
        self._ends.append(end)
        self._lanes.append(lane)
        return lane


def write_walks(
    writer: TraceWriter, result: Result, view: View, arrows: Arrows, parent: int
) -> None:
    """All page walks of the view; inside each, how long it was queued, and how long it ran.

    Args:
        writer: where they go.
        result: a run with recorded `walks`.
        view: which cycles are wanted; walks of all SMs are written.
        arrows: which intervals are joined with them.
        parent: the track under which their lanes stand.
    """
    apps = result.applications.name.tolist()
    queued, running = (writer.label(name, _CATEGORY) for name in ("queued", "running"))
    lanes, tracks = Lanes(), list[int]()
    for chunk in result.chunks("walks"):
        kept = view.within(chunk, "requested", "finished")
        kept["started"] = kept.started.clip(kept.requested, kept.finished)
        flows = arrows.into_walks(kept.index.to_numpy())
        for walk, joined in zip(kept.to_dict("records"), flows, strict=True):
            requested, started, finished = walk["requested"], walk["started"], walk["finished"]
            lane = lanes.take(requested, finished)
            if lane == len(tracks):
                tracks.append(writer.track(f"lane {lane}", parent))
            track = tracks[lane]
            arguments = {
                "vpn": walk["vpn"],
                "asid": walk["asid"],
                "app": apps[walk["app"]],
                "sm": walk["sm"],
                "levels": walk["levels"],
            }
            name = f"vpn {walk['vpn']:#x}"
            writer.open(track, name, _CATEGORY, requested, arguments, joined)
            if requested < started:
                writer.slice(track, queued, requested, started)
            if started < finished:
                writer.slice(track, running, started, finished)
            writer.close(track, finished)
