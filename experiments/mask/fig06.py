"""MASK Fig. 6: warps that one TLB miss stalls, each application alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import ALONE_SWEEP, MEAN, MOST, mean_and_most

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def table(material: Material) -> pd.DataFrame:
    """Warps of an SM that wait for one walk, at its end: mean over walks, and the most.

    The last row has the means over the applications.
    """
    return with_average(mean_and_most(material, "tlb_L1_stalled_warps", "tlb_L1_stalled_warps_max"))


def draw(table: pd.DataFrame) -> Picture:
    """Applications side by side."""
    return bars(table, "warps of an SM that\nwait for one walk")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The most that a miss stalled, and the mean of all applications."""
    each = table.drop(index=AVERAGE)
    who = each[MOST].idxmax()
    mean, most = table[MEAN][AVERAGE], each[MOST].max()
    text = f"{most:.0f} ({who}); mean over the applications {mean:.1f}"
    return {"mask.fig6.stalled_warps": number(most, text=text)}


FIGURE = Figure(
    id="mask.fig6",
    title="Fig. 6: warps stalled by a TLB miss",
    about="Each application alone on all SMs, SharedTLB: warps of one SM that wait for a page "
    "that neither its L1 TLB nor the L2 TLB has.",
    claims=("mask.fig6.stalled_warps",),
    sweeps=(ALONE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.1f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
