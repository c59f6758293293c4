"""MASK Fig. 7: L2 TLB miss rates alone and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most
from gpusim.studies.reproduce.measures import POINT
from gpusim.studies.reproduce.mixes import of_applications, of_applications_alone, together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, PAIRS, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = {name: PAIRS[name] for name in ("3DS_HISTO", "CONS_LPS", "MUM_HISTO", "RED_RAY")}
ALONE, TOGETHER = "alone", "together"


def table(material: Material) -> pd.DataFrame:
    """Miss rates of each application."""
    rate = "tlb_L2_hit_rate"
    alone = of_applications_alone(material, rate, SHOWN, {ALONE: {"variant": BASE}})
    return 1 - alone.join(of_applications(material, rate, SHOWN, together({TOGETHER: BASE})))


def draw(table: pd.DataFrame) -> Picture:
    """Applications side by side."""
    return bars(table, "L2 TLB miss rate")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How many miss more often together."""
    return {"mask.fig7.interference": most(table[TOGETHER] - table[ALONE] >= POINT)}


FIGURE = Figure(
    id="mask.fig7",
    title="Fig. 7: L2 TLB misses alone and together",
    about="SharedTLB, half of the SMs for each.",
    claims=("mask.fig7.interference",),
    sweeps=(pair_sweep([BASE], SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
