"""VC Fig. 5: bandwidth of the IOMMU TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import (
    BASELINES,
    HIGH,
    IDEAL,
    LARGE,
    RATES,
    UNLIMITED,
    cycles,
    falls,
    sweep,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


LIMITED = sweep(["bandwidth-2", "bandwidth-4"], HIGH)
WIDTHS = {"1": LARGE, "2": "bandwidth-2", "4": "bandwidth-4", "inf": UNLIMITED}
"""Lookups a cycle."""


def table(material: Material) -> pd.DataFrame:
    """Time beyond that of the ideal MMU, relative to it."""
    times = cycles(material, [IDEAL, *WIDTHS.values()], HIGH)
    found = times[list(WIDTHS.values())].div(times[IDEAL], axis=0) - 1
    return with_average(found.set_axis(list(WIDTHS), axis=1))


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "overhead over IDEAL MMU")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The averages."""
    mean = table.T[AVERAGE].tolist()
    return {
        "vc.fig5.bw_monotone": Measured(
            holds=falls(mean),
            text=" > ".join(f"{value:.1%}" for value in mean),
        )
    }


FIGURE = Figure(
    id="vc.fig5",
    title="Fig. 5: bandwidth of the IOMMU TLB",
    about="Time beyond that of IDEAL MMU, relative to it, with an IOMMU TLB of 16K entries and 1, "
    "2, 4 and any number of lookups a cycle; programs of high translation bandwidth.",
    claims=("vc.fig5.bw_monotone",),
    sweeps=(BASELINES, RATES, LIMITED),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
