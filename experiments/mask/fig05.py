"""MASK Fig. 5: page walks at once, each application alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import ALONE_SWEEP, MEAN, mean_and_most

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def table(material: Material) -> pd.DataFrame:
    """Walks under way: mean over all cycles, and the most; then means over the applications."""
    return with_average(mean_and_most(material, "concurrent_walks", "concurrent_walks_max"))


def draw(table: pd.DataFrame) -> Picture:
    """Applications side by side."""
    return bars(table, "page walks at once")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The application with the most, and the mean over all."""
    each = table.drop(index=AVERAGE)
    who = each[MEAN].idxmax()
    mean, most = table[MEAN][AVERAGE], each[MEAN].max()
    text = f"{most:.1f} ({who}); mean over the applications {mean:.1f}"
    return {"mask.fig5.concurrent_walks": number(most, text=text)}


FIGURE = Figure(
    id="mask.fig5",
    title="Fig. 5: page walks at once",
    about="Each application alone on all SMs, SharedTLB. The mean is over all cycles, not over "
    "samples 10,000 cycles apart.",
    claims=("mask.fig5.concurrent_walks",),
    sweeps=(ALONE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.1f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
