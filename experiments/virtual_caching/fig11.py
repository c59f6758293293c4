"""VC Fig. 11: virtual L1 caches alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASELINES, HIGH, LARGE, OPT, RATES, cycles, falls, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


DESIGNS = {"L1-only VC (32)": "l1-vc-32", "L1-only VC (128)": "l1-vc-128", "L1 and L2 VC": OPT}


def table(material: Material) -> pd.DataFrame:
    """Speedups over Baseline 16K."""
    times = cycles(material, [LARGE, *DESIGNS.values()], HIGH)
    found = 1 / times[list(DESIGNS.values())].div(times[LARGE], axis=0)
    return with_average(found.set_axis(list(DESIGNS), axis=1))


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "speedup over Baseline 16K")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The averages; what the whole gains over its part is the mean of each program's own."""
    small, medium, whole = table.T[AVERAGE].tolist()
    single = table.drop(AVERAGE)
    further = (single["L1 and L2 VC"] / single["L1-only VC (32)"]).mean()
    return {
        "vc.fig11.l1only": number(100 * (small - 1)),
        "vc.fig11.whole_over_l1only": number(100 * (further - 1)),
        "vc.fig11.whole_total": number(100 * (whole - 1)),
        "vc.fig11.l1only_128_between": Measured(
            holds=falls([whole, medium, small]), text=f"{small:.3f}, {medium:.3f}, {whole:.3f}"
        ),
    }


FIGURE = Figure(
    id="vc.fig11",
    title="Fig. 11: virtual L1 caches alone",
    about="Speedup over Baseline 16K of virtual L1 caches before per-CU TLBs of 32 and 128 "
    "entries and a physical L2 cache, and of VC With OPT; programs of high translation "
    "bandwidth (the paper does not say which).",
    claims=(
        "vc.fig11.l1only",
        "vc.fig11.whole_over_l1only",
        "vc.fig11.whole_total",
        "vc.fig11.l1only_128_between",
    ),
    sweeps=(BASELINES, RATES, sweep(["l1-vc-32", "l1-vc-128"], HIGH)),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
