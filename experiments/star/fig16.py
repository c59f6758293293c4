"""STAR Fig. 16: sizes of the stride."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.sweep.point import BASELINE

from .common import BASE, STUDIED, bars, gains, percent, sweep_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

STRIDES = {"stride 1": "star", "stride 2": "star-stride-2", "stride 4": "star-stride-4"}
SAME = 5.0
"""Percentage points (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    designs = together({BASE: BASELINE, **STRIDES})
    return gains(material, STUDIED, designs)[list(STRIDES)]


def draw(table: pd.DataFrame) -> Picture:
    """Strides side by side."""
    return bars(table, "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How far apart they are, and which is best where."""
    gain = percent(table)
    mean = gain.loc[AVERAGE]
    one, longer = gain["stride 1"], gain[["stride 2", "stride 4"]]
    holds = all(one[name] > longer.loc[name].max() for name in ("W1", "W2"))
    told = ", ".join(
        f"{name} {' / '.join(f'{value:.1f}' for value in gain.loc[name])} %"
        for name in ("W1", "W2", "W5")
    )
    return {
        "star.fig16.stride_sizes": Measured(
            holds=bool(mean.max() - mean.min() < SAME),
            text=", ".join(f"{name} {value:.1f} %" for name, value in mean.items()),
        ),
        "star.fig16.stride_cases": Measured(
            holds=bool(holds and longer.loc["W5"].min() > one["W5"]), text=told
        ),
    }


FIGURE = Figure(
    id="star.fig16",
    title="Fig. 16: strides of 1, 2 and 4 sub-entries",
    about="Performance relative to the baseline, harmonic means of six workloads.",
    claims=("star.fig16.stride_sizes", "star.fig16.stride_cases"),
    sweeps=(sweep_of([BASELINE, *STRIDES.values()], STUDIED, alone=()),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
