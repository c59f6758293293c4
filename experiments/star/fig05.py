"""STAR Fig. 5: sub-entries in use at eviction, each application alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.sweep.point import BASELINE

from .common import (
    ALONE_SWEEP,
    PROGRAMS,
    USED,
    count_table,
    evicted,
    mean_used,
    panels,
    shares_up_to,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result

EVICTIONS, MEAN, COMMONEST = "evictions", "mean", "commonest"


def _only(result: Result) -> list[int]:
    (app,) = result.applications["name"]
    return evicted(result, app)


def table(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most so many in use, alone on three slices."""
    counts = count_table(material.read(_only, PROGRAMS, {"variant": BASELINE}))
    total = counts.sum(axis=1)
    found = shares_up_to(counts)
    found[EVICTIONS] = total
    found[MEAN] = mean_used(counts)
    found[COMMONEST] = counts.idxmax(axis=1).where(total > 0)
    return found.rename_axis("program")


def draw(table: pd.DataFrame) -> Picture:
    """Those that evict anything."""
    return panels({"": table[list(USED)]}, "sub-entries in use", "share of evictions")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means and shares of some."""
    fit = ["ATAX", "BFS", "BICG", "NW"]
    return {
        "star.fig5.stream_full": number(*table[MEAN][["FIR", "FFT"]]),
        "star.fig5.mt_four": number(table[COMMONEST]["MT"]),
        "star.fig5.st_half": number(100 * table[len(USED) // 2]["ST"]),
        "star.fig5.no_evictions": number(*table[EVICTIONS][fit]),
    }


FIGURE = Figure(
    id="star.fig5",
    title="Fig. 5: sub-entries in use at eviction, alone",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, each "
    "application alone on three slices; – without evictions.",
    claims=(
        "star.fig5.stream_full",
        "star.fig5.mt_four",
        "star.fig5.st_half",
        "star.fig5.no_evictions",
    ),
    sweeps=(ALONE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.3g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
