"""MASK §7.2: what the DRAM scheduler does for page-table reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import MAIN, PAIRS, PARTS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

BASE, DRAM = "SharedTLB", "MASK-DRAM"
SHOWN = {BASE: "shared-tlb", DRAM: PARTS[DRAM]}
LATENCY, BANDWIDTH = " latency", " bandwidth"


def table(material: Material) -> pd.DataFrame:
    """DRAM latency of page-table reads in core cycles, and the bandwidth used in GB/s."""
    latency = material.numbers("dram_translation_latency", PAIRS, together(SHOWN))
    bandwidth = material.numbers("dram_bandwidth", PAIRS, together(SHOWN))
    return latency.add_suffix(LATENCY).join(bandwidth.add_suffix(BANDWIDTH))


def _changes(table: pd.DataFrame) -> pd.DataFrame:
    """MASK-DRAM relative to SharedTLB."""
    import pandas as pd

    return pd.DataFrame(
        {what.strip(): table[DRAM + what] / table[BASE + what] for what in (LATENCY, BANDWIDTH)}
    )


def draw(table: pd.DataFrame) -> Picture:
    """Both numbers relative to SharedTLB."""
    return bars(_changes(table), "MASK-DRAM relative\nto SharedTLB")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The pairs with the largest changes."""
    changes = _changes(table)
    saved, more = 100 * (1 - changes["latency"]), 100 * (changes["bandwidth"] - 1)
    text = f"{saved.idxmax()} and {more.idxmax()}; means {saved.mean():.1f} and {more.mean():.1f} %"
    return {"mask.sec72.dram_effects": number(saved.max(), more.max(), text=text)}


FIGURE = Figure(
    id="mask.sec72.dram",
    title="§7.2: DRAM scheduler",
    about="DRAM latency of page-table reads in core cycles, and bandwidth used in GB/s.",
    claims=("mask.sec72.dram_effects",),
    sweeps=(MAIN,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.1f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
