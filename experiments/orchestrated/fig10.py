"""ORCH Fig. 10: L1 TLB hit rates of scheduling, partitioning and sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, all_of, mean_points, most, points
from gpusim.studies.reproduce.measures import reduction
from gpusim.studies.sweep.spec import Sweep

from .common import DESIGNS, MODEL, PROGRAMS, PROPOSAL, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

LOSE = ["bfs", "color", "mis", "pagerank", "3dconv", "gemm"]
GAIN = ["atax", "bicg", "nw", "mvt"]
TIME = " time"


def table(material: Material) -> pd.DataFrame:
    """Hit rates of all designs; the times of partitioning and sharing, relative to the baseline."""
    rates = material.numbers("tlb_L1_hit_rate_mean", PROGRAMS, DESIGNS)
    cycles = material.numbers("cycles", PROGRAMS, DESIGNS)
    times = cycles.div(cycles["baseline"], axis=0)[["partitioning", PROPOSAL]]
    return rates.join(times.add_suffix(TIME))


def draw(table: pd.DataFrame) -> Picture:
    """The hit rates."""
    return bars(table[list(DESIGNS)], "L1 TLB hit rate", baseline=False)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Whom partitioning hurts and helps, and what sharing adds."""
    parts, full = points(table, "partitioning"), points(table, PROPOSAL)
    over_parts = mean_points(table, PROPOSAL, "partitioning")
    saved = reduction(table, PROPOSAL + TIME, "partitioning" + TIME)
    return {
        "orch.fig10.partition_degrades": most(parts[LOSE] <= -1),
        "orch.fig10.partition_helps_four": all_of(parts[GAIN], lambda gained: gained >= 1),
        "orch.fig10.full_hit_up": mean_points(table, PROPOSAL, "baseline"),
        "orch.fig10.share_beats_partition": Measured(
            holds=bool(over_parts.holds and saved > 0),
            text=f"{over_parts.text}; time cut by {saved:.1f} %",
        ),
        "orch.fig10.gemm_no_harm": all_of(full[["gemm"]], lambda gained: gained > -1),
    }


FIGURE = Figure(
    id="orch.fig10",
    title="Fig. 10: L1 TLB hit rates of the designs",
    about="Mean of the hit rates of all SMs; each design has what the one before has. The last "
    "two columns are execution times, relative to the baseline.",
    claims=(
        "orch.fig10.partition_degrades",
        "orch.fig10.partition_helps_four",
        "orch.fig10.full_hit_up",
        "orch.fig10.share_beats_partition",
        "orch.fig10.gemm_no_harm",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=DESIGNS),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
