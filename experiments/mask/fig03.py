"""MASK Fig. 3: the two baselines beside an ideal TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import MAIN, PAIRS, by_category, of_ideal, speedups, variants

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DESIGNS = {"PWCache": "pwcache", "SharedTLB": "shared-tlb", "Ideal": "ideal"}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's, means by category."""
    return by_category(of_ideal(speedups(material, PAIRS, variants(DESIGNS))))


def draw(table: pd.DataFrame) -> Picture:
    """Categories side by side."""
    return bars(table, "weighted speedup,\nrelative to Ideal")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """What each loses on average."""
    lost = 100 * (1 - table.T[AVERAGE])
    return {"mask.fig3.baseline_gap": number(lost["PWCache"], lost["SharedTLB"])}


FIGURE = Figure(
    id="mask.fig3",
    title="Fig. 3: baselines and an ideal TLB",
    about="Weighted speedups, IPCs alone on SharedTLB, relative to those of Ideal.",
    claims=("mask.fig3.baseline_gap",),
    sweeps=(MAIN,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
