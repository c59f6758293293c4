"""VC Fig. 8: lookups of the IOMMU TLB with virtual caches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.plots import PALETTE, new_figure
from gpusim.plots.furniture import legend_above, name_ticks
from gpusim.reproduce import Figure, Material, Measured, most, one

from .common import OPT, PROGRAMS, RATES, UNLIMITED, recorded
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
    figure = new_figure("page", height=2.4)
    axes = figure.subplots()
    places = np.arange(len(table))
    for number, name in enumerate(DESIGNS):
        axes.bar(
            places + 0.4 * (number - 0.5), table[f"{name} {MEAN}"], 0.4, label=name, capsize=2,
            yerr=table[f"{name} {DEVIATION}"], color=PALETTE[number],
        )  # fmt: skip
    name_ticks(axes, places.tolist(), table.index)
    axes.set_ylabel("lookups per cycle")
    axes.set_ylim(0)
    legend_above(axes)
    return figure


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
    from gpusim.cli.reproduce import script

    script(FIGURE)
