"""Timelines: recorded events as arrays over time, cycle by cycle."""

from gpusim.views.timelines.activity import activity
from gpusim.views.timelines.moment import stalled_on, walks_at
from gpusim.views.timelines.stalls import stalls
from gpusim.views.timelines.timeline import timeline
from gpusim.views.timelines.waits import walk_waits
from gpusim.views.timelines.window import MOST_BINS, Selection, Window, window_of

__all__ = [
    "MOST_BINS",
    "Selection",
    "Window",
    "activity",
    "stalled_on",
    "stalls",
    "timeline",
    "walk_waits",
    "walks_at",
    "window_of",
]
