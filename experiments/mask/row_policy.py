"""MASK §7.3: open and closed DRAM rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, one, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, MASK, STUDIED, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "dram.page_policy"
OPEN, CLOSED = "open", "closed"
DESIGNS = {"PWCache": "pwcache", "SharedTLB": BASE, "MASK": MASK}
MOST = 0.008


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB with open rows."""
    designs = {
        f"{name}, {rows}": {"variant": variant, KEY: rows}
        for name, variant in DESIGNS.items()
        for rows in (OPEN, CLOSED)
    }
    alone = {"variant": BASE, KEY: OPEN}
    found = material.compared("weighted_speedup", STUDIED, designs, alone)
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The design with the largest difference."""
    mean = table.T[AVERAGE]
    most = max(abs(mean[f"{name}, {CLOSED}"] / mean[f"{name}, {OPEN}"] - 1) for name in DESIGNS)
    return {"mask.sec73.row_policy": one(most, most <= MOST)}


FIGURE = Figure(
    id="mask.sec73.row_policy",
    title="§7.3: open and closed rows",
    about="Weighted speedups, one pair a category; IPCs alone are those of SharedTLB with open "
    "rows.",
    claims=("mask.sec73.row_policy",),
    sweeps=(pair_sweep(DESIGNS.values(), STUDIED, axes={KEY: [OPEN, CLOSED]}),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
