"""COMP and the allocation of frames: what lies scattered cannot be compressed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, mean_points
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import bar_groups, new_figure

from .common import L2_RATE, MODEL, SHORT_PROGRAMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "memory.frames"
FRAMES = ("first-touch", "scattered")
DESIGNS = {"baseline": "none", "compression": "half", "compression-unpartitioned": "all"}


def table(material: Material) -> pd.DataFrame:
    """L2 TLB hit rates: which ways are compressed, and how frames are allocated."""
    designs: dict[str, dict[str, object]] = {
        f"{name}, {frames}": {"variant": variant, KEY: frames}
        for frames, (variant, name) in product(FRAMES, DESIGNS.items())
    }
    return material.numbers(L2_RATE, SHORT_PROGRAMS, designs)


def draw(table: pd.DataFrame) -> Picture:
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


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The mean with scattered frames."""
    return {"comp.design.partition_needed": mean_points(table, "half, scattered", "all, scattered")}


FIGURE = Figure(
    id="comp.design.frames",
    title="Sensitivity: frame allocation, and the partition",
    about="Frames one after another as pages are first touched, or scattered over the memory; "
    "none, half or all of the ways compressed. L2 TLB hit rates of eight of the irregular "
    "programs.",
    claims=("comp.design.partition_needed",),
    sweeps=(
        Sweep(
            models=MODEL,
            workloads=tuple(SHORT_PROGRAMS.values()),
            variants=tuple(DESIGNS),
            set={KEY: FRAMES},
        ),
    ),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
