"""MASK Fig. 9: DRAM latency of page-table reads and of data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, with_average
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, BASE_SWEEP, PAIRS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KINDS = {"page table": "dram_translation_latency", "data": "dram_data_latency"}


def table(material: Material) -> pd.DataFrame:
    """Core cycles from the controller's queue to the end of the data."""
    import pandas as pd

    found = pd.DataFrame(
        {
            kind: material.numbers(one, PAIRS, together({BASE: BASE}))[BASE]
            for kind, one in KINDS.items()
        }
    )
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "DRAM latency in cycles")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Which is longer on average."""
    walk, data = table.T[AVERAGE].to_numpy(float)
    text = f"{walk:.0f} and {data:.0f} cycles"
    return {"mask.fig9.latency_order": Measured(holds=bool(walk > data), text=text)}


FIGURE = Figure(
    id="mask.fig9",
    title="Fig. 9: DRAM latency",
    about="SharedTLB, FR-FCFS; core cycles, means over pairs last.",
    claims=("mask.fig9.latency_order",),
    sweeps=(BASE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.0f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
