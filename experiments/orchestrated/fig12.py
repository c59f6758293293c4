"""ORCH Fig. 12: the proposal on top of TLB compression in the L1 TLBs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number, reduction
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import bar_groups, new_figure

from .common import MODEL, PROGRAMS, PROPOSAL, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

COMPRESSION = "compression-l1"
BOTH = f"{COMPRESSION}+{PROPOSAL}"
SPEEDUP = "speedup"


def table(material: Material) -> pd.DataFrame:
    """Cycles relative to the baseline, and the speedup of both over compression alone."""
    cycles = material.numbers("cycles", PROGRAMS, ["baseline", COMPRESSION, BOTH])
    speedup = cycles[COMPRESSION] / cycles[BOTH]
    return cycles.div(cycles["baseline"], axis=0).assign(**{SPEEDUP: speedup})


def draw(table: pd.DataFrame) -> Picture:
    """The speedup."""
    times = table[[COMPRESSION, BOTH]].rename(columns={COMPRESSION: "baseline"})
    figure = new_figure("page", height=2.4)
    bar_groups(
        times,
        baseline="baseline",
        speedup=True,
        ax=figure.subplots(),
        ylabel="speedup over compression\nalone",
    )
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The geometric mean over the programs."""
    time = 1 - reduction(table, BOTH, COMPRESSION) / 100
    return {"orch.fig12.plus_compression": number(100 * (1 / time - 1))}


FIGURE = Figure(
    id="orch.fig12",
    title="Fig. 12: on top of TLB compression",
    about="L1 TLBs that are half compressed, at one more cycle a lookup, alone and with "
    "scheduling, partitioning and sharing. Columns: cycles relative to the baseline; the "
    "speedup over compression alone.",
    claims=("orch.fig12.plus_compression",),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=["baseline", COMPRESSION, BOTH]),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
