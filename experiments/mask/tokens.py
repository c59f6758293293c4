"""MASK §7.2: what TLB-fill tokens make of TLB hit rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import BASELINES, MAIN, PAIRS, PARTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

TOKENS = "MASK-TLB"
SHOWN = {"Static": BASELINES["Static"], "SharedTLB": BASELINES["SharedTLB"], TOKENS: PARTS[TOKENS]}
BYPASS = "bypass cache"
SAME = 0.05
"""Hit rates that are nearly equal (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """L2 TLB hit rates of each pair, those of the bypass cache last."""
    rates = material.numbers("tlb_L2_hit_rate", PAIRS, together(SHOWN))
    bypass = material.numbers("tlb_L2_bypass_hit_rate", PAIRS, together({BYPASS: PARTS[TOKENS]}))
    found = rates.join(bypass)
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "L2 TLB hit rate")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    apart = abs(mean["Static"] - mean["SharedTLB"])
    return {
        "mask.sec72.tlb_hit": number(100 * (mean[TOKENS] / mean["SharedTLB"] - 1)),
        "mask.sec72.bypass_cache_hit": number(100 * mean[BYPASS]),
        "mask.sec72.static_same_hit": Measured(
            holds=bool(apart < SAME), text=f"{mean['Static']:.1%} and {mean['SharedTLB']:.1%}"
        ),
    }


FIGURE = Figure(
    id="mask.sec72.tokens",
    title="§7.2: TLB-fill tokens",
    about="Hit rates of the L2 TLB, with MASK-TLB those of the bypass cache included; its own "
    "are of the lookups that the L2 TLB could not answer.",
    claims=(
        "mask.sec72.tlb_hit",
        "mask.sec72.bypass_cache_hit",
        "mask.sec72.static_same_hit",
    ),
    sweeps=(MAIN,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
