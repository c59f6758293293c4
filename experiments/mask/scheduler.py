"""MASK §7.3: MASK with another DRAM scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, PARTS, STUDIED, gain, pair_sweep, variants

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

OTHER = "app-aware-dram"
DESIGNS = {
    "SharedTLB": f"{BASE}+{OTHER}",
    "MASK": f"{PARTS['MASK-TLB']}+{PARTS['MASK-Cache']}+{OTHER}",
}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB, with the same scheduler."""
    alone = {"variant": DESIGNS["SharedTLB"]}
    return material.compared("weighted_speedup", STUDIED, variants(DESIGNS), alone)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the pairs."""
    return {"mask.sec73.other_scheduler": number(gain(table, "MASK").mean())}


FIGURE = Figure(
    id="mask.sec73.other_scheduler",
    title="§7.3: another DRAM scheduler",
    about="Weighted speedups, one pair a category, with a scheduler that serves row hits first "
    "and then applications in turn; MASK is its tokens and its L2 bypass.",
    claims=("mask.sec73.other_scheduler",),
    sweeps=(pair_sweep(DESIGNS.values(), STUDIED, alone=(DESIGNS["SharedTLB"],)),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
