"""STAR Fig. 14: performance relative to running alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import (
    BASE,
    STAR,
    STAR_SWEEP,
    WORKLOADS,
    bars,
    normalised_performance,
    shared,
    with_workloads,
    workload_rows,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def table(material: Material) -> pd.DataFrame:
    """Normalised performance with STAR and on the baseline: applications, then workloads."""
    return with_workloads(normalised_performance(material, WORKLOADS, shared([BASE, STAR])))


def draw(table: pd.DataFrame) -> Picture:
    """The workloads."""
    return bars(workload_rows(table), "normalised performance")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Losses on average."""
    loss = 100 * (1 - table.T[AVERAGE])
    return {"star.fig14.loss_vs_alone": number(loss[STAR], loss[BASE])}


FIGURE = Figure(
    id="star.fig14",
    title="Fig. 14: STAR against running alone",
    about="Time alone / time shared, of each application and, harmonic means, of each workload. "
    "Alone is on the baseline, on an instance of the same size, with the whole L3 TLB.",
    claims=("star.fig14.loss_vs_alone",),
    sweeps=(STAR_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
