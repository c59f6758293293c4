"""Lookups of VC's IOMMU TLB in windows of a microsecond, and conflicts in its banks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Bars, Material, Measured, all_of, figure, most, number, one

from .common import (
    OPT,
    PANNOTIA,
    RATES,
    RODINIA,
    UNLIMITED,
    bars_of_windows,
    recorded,
)
from .recorded import ABOVE, CONFLICTS, DEVIATION, MEAN, MOST, conflicts, rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SEVERAL = 3
"""Programs that are several (our choice)."""


def rates_of_baseline(material: Material) -> pd.DataFrame:
    """Mean, deviation and most of the windows, and how many are above 1; largest mean first."""
    found = recorded(rates, UNLIMITED)(material)
    return found.sort_values(MEAN, ascending=False, kind="stable")


@figure(
    id="vc.fig3",
    title="Fig. 3: lookups of the IOMMU TLB",
    about="Per cycle, in windows of 1 µs (700 cycles), with per-CU TLBs of 32 entries and an "
    "IOMMU TLB that answers any number of lookups a cycle; bars: one standard deviation, "
    "dots: the highest window.",
    sweeps=(RATES,),
    table=rates_of_baseline,
    draw=lambda table: bars_of_windows(table[[MEAN]], table[[DEVIATION]], table[MOST]),
)
def lookups(table: pd.DataFrame) -> dict[str, Measured]:
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


DESIGNS = {"Baseline": UNLIMITED, "VC With OPT": OPT}
BOUND, RARE = 0.3, 0.005


def rates_of_both(material: Material) -> pd.DataFrame:
    """Mean, deviation and share above 1 of the windows of both designs; largest mean first."""
    found = {name: recorded(rates, variant)(material) for name, variant in DESIGNS.items()}
    columns = {
        f"{name} {what}": found[name][what] for name in DESIGNS for what in (MEAN, DEVIATION, ABOVE)
    }
    whole = found["Baseline"][[]].assign(**columns)
    return whole.sort_values(f"Baseline {MEAN}", ascending=False, kind="stable")


def draw_both(table: pd.DataFrame) -> Picture:
    """Means with their deviations."""
    means, deviations = (
        table[[f"{name} {what}" for name in DESIGNS]].set_axis(list(DESIGNS), axis=1)
        for what in (MEAN, DEVIATION)
    )
    return bars_of_windows(means, deviations)


@figure(
    id="vc.fig8",
    title="Fig. 8: lookups of the IOMMU TLB with virtual caches",
    about="Per cycle, in windows of 1 µs; the baseline is that of Fig. 3; bars: one standard "
    "deviation.",
    sweeps=(RATES,),
    table=rates_of_both,
    draw=draw_both,
)
def lookups_with_virtual_caches(table: pd.DataFrame) -> dict[str, Measured]:
    """Programs with fewer lookups, and means over all."""
    before, after = (table[f"{name} {MEAN}"] for name in DESIGNS)
    rare = table[f"VC With OPT {ABOVE}"].mean()
    return {
        "vc.fig8.reduction": most(after < before),
        "vc.fig8.mean_below": one(after.mean(), after.mean() < BOUND, "{:.2f}"),
        "vc.fig8.rare_bursts": one(rare, rare < RARE),
    }


FREQUENT = ["mis", "color_max"]


@figure(
    id="vc.sec3.banks",
    title="§3.2: conflicts in a multi-banked IOMMU TLB",
    about="Of the lookups of an IOMMU TLB that answers any number a cycle, those whose bank, of "
    "four by the lowest bits of the page number, another lookup of the same cycle has.",
    sweeps=(RATES,),
    table=recorded(conflicts, UNLIMITED),
    draw=Bars("share of lookups"),
)
def bank_conflicts(table: pd.DataFrame) -> dict[str, Measured]:
    """The two that the paper names, beside the mean of all."""
    found = 100 * table[CONFLICTS]
    mean = found.mean()
    return {
        "vc.sec3.bank_conflicts": all_of(found[FREQUENT], lambda share: share > mean, "{:.1f} %")
    }
