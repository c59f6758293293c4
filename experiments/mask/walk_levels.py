"""MASK §4.3, §5.3: L2 cache hit rates of page-table reads by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, BASE_SWEEP, PAIRS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

LEVELS = {f"level {level}": f"l2_level{level}_hit_rate" for level in range(1, 5)}


def table(material: Material) -> pd.DataFrame:
    """Hit rates from the root down."""
    import pandas as pd

    found = pd.DataFrame(
        {
            level: material.numbers(one, PAIRS, together({BASE: BASE}))[BASE]
            for level, one in LEVELS.items()
        }
    )
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "L2 cache hit rate")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """On average, and of the third level in two pairs."""
    rates = 100 * table
    third = rates["level 3"]
    return {
        "mask.sec43.level_hit_rates": number(*rates.T[AVERAGE]),
        "mask.sec53.level3_varies": number(third["MM_CONS"], third["RED_RAY"]),
    }


FIGURE = Figure(
    id="mask.sec43",
    title="§4.3: L2 cache hit rates of page-table reads",
    about="SharedTLB, by level of the page table; 1 is the root.",
    claims=("mask.sec43.level_hit_rates", "mask.sec53.level3_varies"),
    sweeps=(BASE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
