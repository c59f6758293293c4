"""ORCH Fig. 11: execution times of scheduling, partitioning and sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    Figure,
    Material,
    Measured,
    all_of,
    normalised,
    number,
    reduction,
)
from gpusim.studies.sweep.spec import Sweep

from .common import DESIGNS, MODEL, PROGRAMS, PROPOSAL, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

FASTER = ["atax", "bicg", "mvt"]


def table(material: Material) -> pd.DataFrame:
    """Cycles, relative to the baseline."""
    return normalised(material.numbers("cycles", PROGRAMS, DESIGNS))


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "execution time,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric means over the programs."""
    changes = 100 * (table["partitioning"] - 1)
    return {
        "orch.fig11.sched_only": number(reduction(table, "scheduling")),
        "orch.fig11.partition_only": number(-reduction(table, "partitioning")),
        "orch.fig11.full": number(reduction(table, PROPOSAL)),
        "orch.fig11.partition_helps_perf": all_of(
            changes[FASTER], lambda change: change < 0, "{:+.1f} %"
        ),
        "orch.fig11.nw_no_speedup": number(table[PROPOSAL]["nw"]),
    }


FIGURE = Figure(
    id="orch.fig11",
    title="Fig. 11: execution times of the designs",
    about="Cycles, relative to the baseline; each design has what the one before has.",
    claims=(
        "orch.fig11.sched_only",
        "orch.fig11.partition_only",
        "orch.fig11.full",
        "orch.fig11.partition_helps_perf",
        "orch.fig11.nw_no_speedup",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=DESIGNS),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
