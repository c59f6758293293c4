"""The pictures of `docs/timelines.md` and the README: ``python docs/make_pictures/timelines.py``.

Takes some seconds; the pictures go to `docs/pictures`, or to a folder that is named.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gpusim
from gpusim.results import RECORDS
from gpusim.views import plots
from gpusim.views.timelines import Selection, window_of
from gpusim.views.timelines.picture import draw_timeline
from gpusim.views.timelines.warp_picture import draw_warps


def main(folder: Path) -> None:
    """Run bfs at smoke scale; draw all of it, and one SM while its second launch begins."""
    folder.mkdir(parents=True, exist_ok=True)
    model, workload = gpusim.load_model("kepler-uvm"), gpusim.load_workload("bfs", "smoke")
    with gpusim.simulate(model, workload, record=tuple(RECORDS)) as result:
        plots.save(draw_timeline(result, window_of(result)), folder / "timeline_run.png")
        window = window_of(result, 7_440, 8_400)
        plots.save(draw_warps(result, window, Selection(sm=2)), folder / "timeline_warps.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "pictures")
