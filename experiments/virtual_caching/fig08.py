"""VC Fig. 8: lookups of the IOMMU TLB with virtual caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most, one

from .common import OPT, PROGRAMS, RATES, UNLIMITED, bars_of_windows, recorded
from .recorded import ABOVE, DEVIATION, MEAN, rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


DESIGNS = {"Baseline": UNLIMITED, "VC With OPT": OPT}
BOUND, RARE = 0.3, 0.005


def table(material: Material) -> pd.DataFrame:
    """Mean, deviation and share above 1 of the windows of both designs; largest mean first."""
    found = {
        name: recorded(material, rates, PROGRAMS, variant) for name, variant in DESIGNS.items()
    }
    columns = {
        f"{name} {what}": found[name][what] for name in DESIGNS for what in (MEAN, DEVIATION, ABOVE)
    }
    whole = found["Baseline"][[]].assign(**columns)
    return whole.sort_values(f"Baseline {MEAN}", ascending=False, kind="stable")


def draw(table: pd.DataFrame) -> Picture:
    """Means with their deviations."""
    means, deviations = (
        table[[f"{name} {what}" for name in DESIGNS]].set_axis(list(DESIGNS), axis=1)
        for what in (MEAN, DEVIATION)
    )
    return bars_of_windows(means, deviations)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Programs with fewer lookups, and means over all."""
    before, after = (table[f"{name} {MEAN}"] for name in DESIGNS)
    rare = table[f"VC With OPT {ABOVE}"].mean()
    return {
        "vc.fig8.reduction": most(after < before),
        "vc.fig8.mean_below": one(after.mean(), after.mean() < BOUND, "{:.2f}"),
        "vc.fig8.rare_bursts": one(rare, rare < RARE),
    }


FIGURE = Figure(
    id="vc.fig8",
    title="Fig. 8: lookups of the IOMMU TLB with virtual caches",
    about="Per cycle, in windows of 1 µs; the baseline is that of Fig. 3; bars: one standard "
    "deviation.",
    claims=("vc.fig8.reduction", "vc.fig8.mean_below", "vc.fig8.rare_bursts"),
    sweeps=(RATES,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
