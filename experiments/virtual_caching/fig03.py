"""VC Fig. 3: lookups of the IOMMU TLB in each microsecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most, number

from .common import PANNOTIA, PROGRAMS, RATES, RODINIA, UNLIMITED, bars_of_windows, recorded
from .recorded import ABOVE, DEVIATION, MEAN, MOST, rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


SEVERAL = 3
"""Programs that are several (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Mean, deviation and most of the windows, and how many are above 1; largest mean first."""
    found = recorded(material, rates, PROGRAMS, UNLIMITED)
    return found.sort_values(MEAN, ascending=False, kind="stable")


def draw(table: pd.DataFrame) -> Picture:
    """Means with their deviations, and dots for the most."""
    return bars_of_windows(table[[MEAN]], table[[DEVIATION]], table[MOST])


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the programs, and the highest windows."""
    highest = table[MOST].sort_values(ascending=False)
    suites = [table[MEAN][names].mean() for names in (PANNOTIA, RODINIA)]
    return {
        "vc.fig3.mean_rate": number(table[MEAN].mean()),
        "vc.fig3.bursts": most(table[MOST] > 1),
        "vc.fig3.peak": number(
            highest.iloc[SEVERAL - 1], highest.iloc[0], text=", ".join(highest.index[:SEVERAL])
        ),
        "vc.fig3.color_max_windows": number(100 * table[ABOVE]["color_max"]),
        "vc.fig3.graph_more": Measured(
            holds=bool(suites[0] > suites[1]), text=f"{suites[0]:.2f} and {suites[1]:.2f}"
        ),
    }


FIGURE = Figure(
    id="vc.fig3",
    title="Fig. 3: lookups of the IOMMU TLB",
    about="Per cycle, in windows of 1 µs (700 cycles), with per-CU TLBs of 32 entries and an "
    "IOMMU TLB that answers any number of lookups a cycle; bars: one standard deviation, "
    "dots: the highest window.",
    claims=(
        "vc.fig3.mean_rate",
        "vc.fig3.bursts",
        "vc.fig3.peak",
        "vc.fig3.color_max_windows",
        "vc.fig3.graph_more",
    ),
    sweeps=(RATES,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
