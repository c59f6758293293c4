"""COMP's rebase constant, which the paper's text does not tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import new_figure, sweep_lines

from .common import L2_RATE, MODEL, SHORT_PROGRAMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "tlb.L2.sets.rebase"
CONSTANTS = (4, 16, 64)
RESTORED = "tlb.L2.sets.restore"


def table(material: Material) -> pd.DataFrame:
    """L2 TLB hit rates without compression and with each constant."""
    designs: dict[str, dict[str, object]] = {"baseline": {"variant": "baseline"}}
    designs |= {f"R = {value}": {"variant": "compression", KEY: value} for value in CONSTANTS}
    designs["R = 16, restored"] = {"variant": "compression", RESTORED: True}
    return material.numbers(L2_RATE, SHORT_PROGRAMS, designs)


def draw(table: pd.DataFrame) -> Picture:
    """A line a program."""
    figure = new_figure("page", height=2.8)
    lines = table[[f"R = {value}" for value in CONSTANTS]].T
    lines.index = list(CONSTANTS)
    sweep_lines(lines, xlabel="rebase constant R", ylabel="L2 TLB hit rate", ax=figure.subplots())
    return figure


FIGURE = Figure(
    id="comp.design.rebase",
    title="Sensitivity: the rebase constant",
    about="After R insertions that do not fit a set's base, the set takes a new one. L2 TLB hit "
    "rates of eight of the irregular programs. *Restored*: each insertion that fits starts "
    "the count anew.",
    sweeps=(
        Sweep(models=MODEL, workloads=tuple(SHORT_PROGRAMS.values())),
        Sweep(
            models=MODEL,
            workloads=tuple(SHORT_PROGRAMS.values()),
            variants=["compression"],
            set={KEY: CONSTANTS},
        ),
        Sweep(
            models=MODEL,
            workloads=tuple(SHORT_PROGRAMS.values()),
            variants=["compression"],
            set={RESTORED: [True]},
        ),
    ),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
