"""STAR Fig. 18: half of the sub-entries, twice the entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import BASE, STAR, WORKLOADS, bars, gains, percent, shared, sweep_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

RIVALS = ("Half-Sub-Double-Set", "Half-Sub-Double-Way-Seq", "Half-Sub-Double-Way-Para")
SHOWN = (*RIVALS, STAR)
OVER = "STAR / "


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, and STAR's relative to each, a row a workload."""
    found = gains(material, WORKLOADS, shared([BASE, *SHOWN]))[list(SHOWN)]
    for name in RIVALS:
        found[OVER + name] = gains(material, WORKLOADS, shared([name, STAR]), name)[STAR]
    return found


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table[list(SHOWN)], "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gains over each, and one of the baseline's."""
    para = percent(table[RIVALS[-1]])
    return {
        "star.fig18.alternatives": number(
            *(percent(table[OVER + name][AVERAGE]) for name in RIVALS)
        ),
        "star.fig18.w8_para": number(para["W8"]),
    }


FIGURE = Figure(
    id="star.fig18",
    title="Fig. 18: other TLB designs",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    claims=(
        "star.fig18.alternatives",
        "star.fig18.w8_para",
    ),
    sweeps=(sweep_over(SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
