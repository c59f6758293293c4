"""COMP's design points: the partition split, rebasing, and a cluster TLB beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, gain, mean_points
from gpusim.studies.reproduce.pictures import Bars, panels
from gpusim.studies.sweep.spec import Sweep

from .common import L2_RATE, MODEL, PROGRAMS, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DESIGNS = {
    "baseline": "baseline",
    "compression": "half",
    "compression-unpartitioned": "all",
    "compression-no-rebase": "half, no rebase",
    "cluster-tlb": "cluster",
}
"""Variants, and how they are called here."""

WIDE = ["atax", "bicg", "mvt"]
"""Programs whose lanes are 16 KiB apart."""

GAIN = " gain in %"


def table(material: Material) -> pd.DataFrame:
    """Hit rates, and gains in percent."""
    rates = material.numbers(L2_RATE, PROGRAMS, list(DESIGNS)).rename(columns=DESIGNS)
    cycles = material.numbers("cycles", PROGRAMS, list(DESIGNS)).rename(columns=DESIGNS)
    others = list(DESIGNS.values())[1:]
    return rates.assign(**{name + GAIN: gain(cycles, name) for name in others})


def draw(table: pd.DataFrame) -> Picture:
    """Hit rates, and speedup."""
    names = list(DESIGNS.values())
    gains = table[[name + GAIN for name in names[1:]]]
    gains.columns = gains.columns.str.removesuffix(GAIN)
    speedups = (gains / 100 + 1).assign(baseline=1.0)[names]  # in the colours of above
    return panels(
        Bars(table[names], "L2 TLB hit rate"),
        Bars(speedups, "speedup over the baseline", geomean=True, limit=3),
    )


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the programs."""
    return {
        "comp.design.rebase_helps": mean_points(table, "half", "half, no rebase"),
        "comp.rel.cluster_tlb_stride": mean_points(table.loc[WIDE], "half", "cluster"),
    }


FIGURE = Figure(
    id="comp.design.points",
    title="Design points: partition split, rebasing, cluster TLB",
    about="The baseline compresses no way, *half* is `compression`, *all* has no plain ways, "
    "*cluster* maps aligned clusters of 8 pages.",
    claims=("comp.design.rebase_helps", "comp.rel.cluster_tlb_stride"),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=tuple(DESIGNS)),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
