"""How COMP's hit rates move with the allocation of frames."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Measured, figure, mean_points, numbers
from gpusim.views.plots import bar_groups, new_figure

from .common import L2_RATE, PROGRAMS, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.studies.reproduce.tables import Design

SHORT = ("nw", "sssp", "bc", "mummer", "cfd", "streamcluster", "histo", "shoc_bfs")
"""Irregular ones, only nw of them ORCH's: studies of a parameter need many runs."""

STUDIED = {name: PROGRAMS[name] for name in SHORT}

study = partial(sweep, workloads=STUDIED.values())
"""These programs on the baseline, or on other designs, with some settings."""

KEY = "memory.frames"
FRAMES = ("first-touch", "scattered")
WAYS = {"baseline": "none", "compression": "half", "compression-unpartitioned": "all"}

BY_FRAMES: dict[str, Design] = {
    f"{name}, {frames}": {"variant": variant, KEY: frames}
    for frames, (variant, name) in product(FRAMES, WAYS.items())
}
"""Which ways are compressed, and how frames are allocated."""


def draw_by_frames(table: pd.DataFrame) -> Picture:
    """A panel for each allocation."""
    figure = new_figure("page", height=4.2)
    for axes, frames in zip(figure.subplots(2, sharey=True), FRAMES, strict=True):
        part = table[[name for name in table.columns if name.endswith(f", {frames}")]]
        part.columns = part.columns.str.removesuffix(f", {frames}")
        bar_groups(
            part,
            geomean=False,
            ylabel="L2 TLB hit rate",
            title=f"frames {frames}; ways compressed:",
            ax=axes,
        )
    return figure


@figure(
    id="comp.design.frames",
    title="Sensitivity: frame allocation, and the partition",
    about="Frames one after another as pages are first touched, or scattered over the memory; "
    "none, half or all of the ways compressed. L2 TLB hit rates of eight of the irregular "
    "programs.",
    sweeps=(study(variants=list(WAYS), set={KEY: FRAMES}),),
    table=numbers(L2_RATE, STUDIED, BY_FRAMES),
    draw=draw_by_frames,
    after="comp.design.rebase",
)
def frames(table: pd.DataFrame) -> dict[str, Measured]:
    """The mean with scattered frames."""
    return {"comp.design.partition_needed": mean_points(table, "half, scattered", "all, scattered")}
