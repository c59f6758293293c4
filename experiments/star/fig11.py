"""STAR Fig. 11: hit rates of the L3 TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import of_applications

from .common import BASE, STAR, STAR_SWEEP, WORKLOADS, bars, percent, shared

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

PERFORMANCE = "performance"


def table(material: Material) -> pd.DataFrame:
    """Hit rates of each application, and its performance with STAR relative to the baseline."""
    designs = shared([BASE, STAR])
    found = of_applications(material, "tlb_L3_hit_rate", WORKLOADS, designs)
    ipcs = of_applications(material, "ipc", WORKLOADS, designs)
    found[PERFORMANCE] = ipcs[STAR] / ipcs[BASE]
    return found.rename_axis("application")


def draw(table: pd.DataFrame) -> Picture:
    """Applications side by side."""
    return bars(table[[BASE, STAR]], "L3 TLB hit rate")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Relative to the baseline's."""
    more = percent(table[STAR] / table[BASE])
    means = table[[BASE, STAR]].mean()
    return {
        "star.fig11.hit_rate": number(
            percent(means[STAR] / means[BASE]),
            text=f"mean hit rates {means[BASE]:.1%} and {means[STAR]:.1%}",
        ),
        "star.fig11.st_w2": number(more["W2.ST"], percent(table[PERFORMANCE]["W2.ST"])),
    }


FIGURE = Figure(
    id="star.fig11",
    title="Fig. 11: L3 TLB hit rates",
    about="Of each application up to the end of its first run.",
    claims=("star.fig11.hit_rate", "star.fig11.st_w2"),
    sweeps=(STAR_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
