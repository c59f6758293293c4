"""A run or a sweep to be watched in a browser while it goes."""

from gpusim.views.live.run import LiveRun
from gpusim.views.live.server import LiveServer

__all__ = ["LiveRun", "LiveServer"]
