"""STAR Fig. 21: against MASK's TLB-fill tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import BASE, STAR, WORKLOADS, bars, gains, percent, shared, sweep_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = ("MASK", STAR)
OVER = "STAR / MASK"


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    found = gains(material, WORKLOADS, shared([BASE, *SHOWN]))[list(SHOWN)]
    return found.assign(**{OVER: gains(material, WORKLOADS, shared(SHOWN), SHOWN[0])[SHOWN[1]]})


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table[list(SHOWN)], "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gain over MASK."""
    return {"star.fig21.vs_mask": number(percent(table[OVER][AVERAGE]))}


FIGURE = Figure(
    id="star.fig21",
    title="Fig. 21: MASK's tokens on the L3 TLB",
    about="MASK's TLB-fill tokens and bypass cache on the L3 TLB: "
    "warps without a token fill the bypass cache, with single translations. "
    "Performance relative to the baseline, harmonic means of the workloads.",
    claims=("star.fig21.vs_mask",),
    sweeps=(sweep_over(SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
