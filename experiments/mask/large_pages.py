"""MASK §7.3: pages of 2 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, HUGE, MASK, STUDIED, of_ideal, pair_sweep, variants

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DESIGNS = {
    name: f"{variant}+{HUGE}"
    for name, variant in {"SharedTLB": BASE, "MASK": MASK, "Ideal": "ideal"}.items()
}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's."""
    alone = {"variant": DESIGNS["SharedTLB"]}
    found = of_ideal(material.compared("weighted_speedup", STUDIED, variants(DESIGNS), alone))
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "weighted speedup,\nrelative to Ideal")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """What is missing on average."""
    lost = 100 * (1 - table.T[AVERAGE])
    return {"mask.sec73.large_pages": number(lost["SharedTLB"], lost["MASK"])}


FIGURE = Figure(
    id="mask.sec73.large_pages",
    title="§7.3: pages of 2 MB",
    about="Weighted speedups relative to Ideal's, all with pages of 2 MB, one pair a category.",
    claims=("mask.sec73.large_pages",),
    sweeps=(pair_sweep(DESIGNS.values(), STUDIED, alone=(DESIGNS["SharedTLB"],)),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
