"""STAR Fig. 15: up to four bases in an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import BASE, STAR, WORKLOADS, bars, gains, percent, shared, sweep_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = ("STAR, 4 bases", STAR)


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    return gains(material, WORKLOADS, shared([BASE, *SHOWN]))[list(SHOWN)]


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table, "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    return {"star.fig15.four_base": number(*percent(table.T[AVERAGE][list(SHOWN)]))}


FIGURE = Figure(
    id="star.fig15",
    title="Fig. 15: four bases",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    claims=("star.fig15.four_base",),
    sweeps=(sweep_over(SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
