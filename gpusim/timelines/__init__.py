"""Where the cycles went, cycle by cycle: recorded events as arrays over time."""

from gpusim.timelines.activity import activity
from gpusim.timelines.moment import stalled_on, walks_at
from gpusim.timelines.stalls import stalls
from gpusim.timelines.timeline import timeline
from gpusim.timelines.waits import walk_waits
from gpusim.timelines.window import MOST_BINS, Selection, Window, window_of

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
