"""VC Fig. 10: virtual caches beside large per-CU TLBs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import HIGH, OPT, RATES, cycles, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


BIG, SPEEDUP = "large-per-cu", "VC With OPT"
ALIKE = ["bc", "fw_block", "lud"]


def table(material: Material) -> pd.DataFrame:
    """Speedup over 128 entries in each compute unit and 16K in the IOMMU."""
    import pandas as pd

    times = cycles(material, [BIG, OPT], HIGH)
    return with_average(pd.DataFrame({SPEEDUP: times[BIG] / times[OPT]}))


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "speedup over large\nper-CU TLBs")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The average, and three programs."""
    found = table[SPEEDUP]
    return {
        "vc.fig10.vs_large_tlb": number(100 * (found[AVERAGE] - 1)),
        "vc.fig10.comparable_three": number(*found[ALIKE], text=", ".join(ALIKE)),
    }


FIGURE = Figure(
    id="vc.fig10",
    title="Fig. 10: virtual caches beside large per-CU TLBs",
    about="Speedup of VC With OPT over TLBs of 128 entries, fully associative, in each compute "
    "unit and 16K entries in the IOMMU; programs of high translation bandwidth.",
    claims=("vc.fig10.vs_large_tlb", "vc.fig10.comparable_three"),
    sweeps=(RATES, sweep([BIG], HIGH)),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
