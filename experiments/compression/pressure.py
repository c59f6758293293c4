"""COMP on a quarter of the machine, whose L2 TLB is under more pressure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, gain, programs_of
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import bar_groups, new_figure

from .common import L2_RATE, MODEL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

PROGRAMS = programs_of("orchestrated")
DESIGNS = {"quarter": "baseline", "quarter+compression": "compression"}


def table(material: Material) -> pd.DataFrame:
    """Hit rates, and gains in percent."""
    rates = material.numbers(L2_RATE, PROGRAMS, list(DESIGNS)).rename(columns=DESIGNS)
    cycles = material.numbers("cycles", PROGRAMS, list(DESIGNS)).rename(columns=DESIGNS)
    return rates.assign(**{"gain in %": gain(cycles, "compression")})


def draw(table: pd.DataFrame) -> Picture:
    """Hit rates side by side."""
    figure = new_figure("page", height=2.4)
    bar_groups(
        table[list(DESIGNS.values())],
        geomean=False,
        ylabel="L2 TLB hit rate",
        ax=figure.subplots(),
    )
    return figure


FIGURE = Figure(
    id="comp.design.pressure",
    title="Sensitivity: an L2 TLB under pressure",
    about="ORCH's ten programs at ORCH's sizes on a quarter of the machine (variant `quarter`), "
    "whose L2 TLB has 128 entries: a set sees every eighth page, so that the 512 frames of a base "
    "hold 64 of its pages.",
    sweeps=(Sweep(models=MODEL, workloads=tuple(PROGRAMS.values()), variants=list(DESIGNS)),),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
