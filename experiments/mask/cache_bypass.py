"""MASK §7.2: page-table reads that still use the L2 cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, MAIN, PAIRS, PARTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = {"SharedTLB": BASE, "MASK-Cache": PARTS["MASK-Cache"]}
PAST = "past the L2 cache"


def table(material: Material) -> pd.DataFrame:
    """L2 cache hit rates of page-table reads, and the share of them that goes past it."""
    rates = material.numbers("l2_translation_hit_rate", PAIRS, together(SHOWN))
    past = material.numbers("l2_bypassed", PAIRS, together({PAST: SHOWN["MASK-Cache"]}))
    found = rates.join(past)
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "share of page-table reads")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the pairs."""
    mean = table.T[AVERAGE]
    text = f"SharedTLB {mean['SharedTLB']:.1%}; {mean[PAST]:.1%} go past"
    return {"mask.sec72.l2_translation_hit": number(100 * mean["MASK-Cache"], text=text)}


FIGURE = Figure(
    id="mask.sec72.cache",
    title="§7.2: L2 bypass",
    about="L2 cache hit rates of the page-table reads that go there.",
    claims=("mask.sec72.l2_translation_hit",),
    sweeps=(MAIN,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
