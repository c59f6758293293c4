"""ORCH Fig. 2: L1 TLB hit rates with 64 and with 256 entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most, one, points
from gpusim.studies.reproduce.measures import POOR
from gpusim.studies.sweep.spec import Sweep

from .common import MODEL, PROGRAMS, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

ENTRIES = {"64 entries": {"variant": "baseline"}, "256 entries": {"variant": "l1-tlb-256"}}


def table(material: Material) -> pd.DataFrame:
    """Means over the SMs."""
    return material.numbers("tlb_L1_hit_rate_mean", PROGRAMS, ENTRIES)


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "L1 TLB hit rate", baseline=False)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How many are poor, and how many gain."""
    small, large = table["64 entries"], table["256 entries"]
    return {
        "orch.fig2.low_hit": most(small < POOR),
        "orch.fig2.larger_tlb_helps": most(
            points(table, "256 entries", "64 entries") >= 1, at_least_half=True
        ),
        "orch.fig2.nw_stays_low": one(large["nw"], large["nw"] < POOR),
        "orch.fig2.gemm_high": one(small["gemm"], small["gemm"] >= POOR),
    }


FIGURE = Figure(
    id="orch.fig2",
    title="Fig. 2: L1 TLB hit rates with 64 and 256 entries",
    about="Mean of the hit rates of all SMs; 4 ways.",
    claims=(
        "orch.fig2.low_hit",
        "orch.fig2.larger_tlb_helps",
        "orch.fig2.nw_stays_low",
        "orch.fig2.gemm_high",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=["baseline", "l1-tlb-256"]),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
