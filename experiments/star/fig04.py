"""STAR Fig. 4: reuse distances of translations at the L3 TLB."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize import reuse_distances
from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import alone, rows
from gpusim.studies.sweep.point import BASELINE, SHARED

from .common import WORKLOADS, l3_pages, panels, sweep_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.figure import Design

SHOWN = {name: WORKLOADS[name] for name in ("W2", "W3", "W4", "W8")}
"""HHM, HMM, HML and MML."""

L3 = 2
"""Its level."""

PARTS = [2.0**power for power in range(-6, 2)]
"""Distances that the table has, relative to what the L3 TLB holds; distances below them count."""

NEAR = 0.1
"""Nearly equal (our choice)."""

ALONE = " alone"
DESIGNS: dict[str, Callable[[str], Design]] = {
    "": lambda _: {"variant": BASELINE, "role": SHARED},
    ALONE: lambda app: alone(app, {"variant": BASELINE}),
}
"""By the end of a row's name: what tells the runs of an application."""


def within(result: Result, app: str, capacity: int) -> list[float]:
    """Shares of an application's reuses that are below `PARTS` of the capacity."""
    found = reuse_distances(result, L3)
    distances = found.loc[found["app"] == app, "distance"].to_numpy()
    if not len(distances):
        return [float("nan")] * len(PARTS)
    return [float(np.mean(distances < part * capacity)) for part in PARTS]


def table(material: Material) -> pd.DataFrame:
    """Shares of reuses up to some distances, of each application together and alone."""
    import pandas as pd

    capacity = l3_pages(material)
    found: dict[str, list[float]] = {}
    places = rows(SHOWN)
    for suffix, design_of in DESIGNS.items():
        for row, (name, app) in places.items():
            reading = partial(within, app=app, capacity=capacity)
            found |= material.read(reading, {row + suffix: SHOWN[name]}, design_of(app))
    names = [row + suffix for suffix in DESIGNS for row in places]
    return pd.DataFrame(found, index=PARTS).T.reindex(names).rename_axis("application")


def draw(table: pd.DataFrame) -> Picture:
    """A panel a workload."""
    tables = {
        name: table[table.index.str.startswith(f"{name}.")].rename(
            lambda row: row.partition(".")[2]
        )
        for name in SHOWN
    }
    return panels(tables, "distance / capacity", "share of reuses", mark=1)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Shares within and beyond the capacity."""
    near = table[1.0]
    st_s, st_s_alone = near["W8.ST_s"], near["W8.ST_s" + ALONE]
    transposes = near[["W2.MT", "W3.MT", "W4.MT_s"]]
    return {
        "star.fig4.nw_reuse": number(100 * near["W3.NW" + ALONE], 100 * near["W3.NW"]),
        "star.fig4.st_s_unchanged": Measured(
            holds=bool(st_s_alone - st_s < NEAR), text=f"{st_s_alone:.1%} alone, {st_s:.1%} in W8"
        ),
        "star.fig4.mt_misses": number(100 * (1 - transposes.mean())),
    }


FIGURE = Figure(
    id="star.fig4",
    title="Fig. 4: reuse distances at the L3 TLB",
    about="Shares of the reuses with fewer distinct other translations, of all applications, "
    "between them than a part of what the L3 TLB holds (1: all its sub-entries). Baseline; exact, "
    "from the recorded lookups; NaN where an application reuses nothing.",
    claims=("star.fig4.nw_reuse", "star.fig4.st_s_unchanged", "star.fig4.mt_misses"),
    sweeps=(sweep_of([BASELINE], SHOWN, record=["tlb"]),),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.2f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
