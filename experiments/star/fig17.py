"""STAR Fig. 17: four to six instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number

from .common import (
    BASE,
    DESIGNS,
    LARGER,
    STAR,
    bars,
    harmonic,
    normalised_performance,
    percent,
    shared,
    speedups,
    sweep_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

ALL = {name: workload for workloads in LARGER.values() for name, workload in workloads.items()}
OVER = "STAR / baseline"


def table(material: Material) -> pd.DataFrame:
    """Normalised performance, and that with STAR relative to the baseline, a row a workload."""
    designs = shared([BASE, STAR])
    found = harmonic(normalised_performance(material, ALL, designs))
    return found.assign(**{OVER: harmonic(speedups(material, ALL, designs))[STAR]})


def draw(table: pd.DataFrame) -> Picture:
    """Workloads side by side."""
    return bars(table, "performance")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means by the number of applications."""
    gain = percent(table[OVER])
    return {
        "star.fig17.instances": number(*(gain[list(names)].mean() for names in LARGER.values()))
    }


FIGURE = Figure(
    id="star.fig17",
    title="Fig. 17: four, five and six instances",
    about="W12 to W16 on 2g + 2g + 2g + 1g, W17 on 2g + 2g + 1g + 1g + 1g, W18 on 2g and five 1g: "
    "time alone / time shared, and STAR relative to the baseline; harmonic means of the workloads.",
    claims=("star.fig17.instances",),
    sweeps=(sweep_of([DESIGNS[BASE], DESIGNS[STAR]], ALL),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
