"""ORCH §IV-A: the scheduler does not lower the number of concurrent thread blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, normalised, number
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots.ratios import geometric_mean

from .common import DESIGNS, MODEL, PROGRAMS, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

COMPARED = DESIGNS[:2]


def table(material: Material) -> pd.DataFrame:
    """Mean number of warps on the GPU at a time."""
    lives = material.numbers("warp_cycles", PROGRAMS, COMPARED)
    return lives / material.numbers("cycles", PROGRAMS, COMPARED)


def draw(table: pd.DataFrame) -> Picture:
    """Relative to the baseline."""
    return bars(table, "resident warps,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric mean over the programs."""
    ratios = normalised(table)["scheduling"]
    return {"orch.secIV.no_throttle": number(geometric_mean(ratios.to_numpy()))}


FIGURE = Figure(
    id="orch.secIV.residency",
    title="§IV-A: warps resident at a time",
    about="Warps on the GPU, mean over the cycles of a run.",
    claims=("orch.secIV.no_throttle",),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=COMPARED),),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.1f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
