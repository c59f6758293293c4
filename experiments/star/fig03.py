"""STAR Fig. 3: what running together costs on the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, most, number
from gpusim.studies.reproduce.mixes import rows

from .common import (
    BASE,
    BASE_SWEEP,
    ENTRIES,
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

ORDER = "LMH"
"""Classes of Table II, fewest misses first."""


def table(material: Material) -> pd.DataFrame:
    """Normalised performance of the applications, then of the workloads."""
    return with_workloads(normalised_performance(material, WORKLOADS, shared([BASE])))


def draw(table: pd.DataFrame) -> Picture:
    """Applications and workloads side by side."""
    return bars(table, "normalised performance")


def class_of(app: str) -> int:
    """Of an application, by Table II; one with a smaller input is of the same class."""
    program = app.partition("-")[0].removesuffix("_s")
    return ORDER.index(str(ENTRIES[program].table.stated["class"]))


def _more_misses_lose_more(losses: pd.Series) -> pd.Series:
    """Of the pairs in a workload that are of different classes, in which it is so."""
    import pandas as pd

    places = rows(WORKLOADS)
    found = {
        f"{low} / {high}": losses[high] > losses[low]
        for low, (mix, app) in places.items()
        for high, (other_mix, other) in places.items()
        if mix == other_mix and class_of(app) < class_of(other)
    }
    return pd.Series(found)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Losses of some, and of all on average."""
    losses = 100 * (1 - table[BASE])
    by_class = _more_misses_lose_more(losses)
    holds = most(by_class)
    return {
        "star.fig3.avg_loss": number(losses[AVERAGE]),
        "star.fig3.extremes": number(losses["W1"], losses["W11"]),
        "star.fig3.w8_apps": number(losses["W8.FFT"], losses["W8.NW"]),
        "star.fig3.st_s_corunner": number(losses["W4.ST_s"], losses["W10.ST_s"]),
        "star.fig3.mpki_sensitivity": Measured(
            holds=holds.holds, text=f"{int(by_class.sum())} of {len(by_class)} pairs"
        ),
    }


FIGURE = Figure(
    id="star.fig3",
    title="Fig. 3: performance of applications that run together",
    about="Time alone / time shared on the baseline, of each application and, harmonic means, of "
    "each workload. Alone is on an instance of the same size, with the whole L3 TLB.",
    claims=(
        "star.fig3.avg_loss",
        "star.fig3.extremes",
        "star.fig3.w8_apps",
        "star.fig3.st_s_corunner",
        "star.fig3.mpki_sensitivity",
    ),
    sweeps=(BASE_SWEEP,),
    table=table,
    draw=lambda table: draw(workload_rows(table)),
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
