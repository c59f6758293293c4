"""STAR's L3 TLB: reuse distances, hit rates, and shared entries over time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize import reuse_distances
from gpusim.studies.reproduce import Bars, Figure, Material, Measured, figure, number
from gpusim.studies.reproduce.mixes import alone, of_applications, read_applications, rows
from gpusim.studies.sweep.point import BASELINE, SHARED
from gpusim.views.plots import new_figure, sweep_lines

from .common import (
    BASE,
    DESIGNS,
    STAR,
    STAR_SWEEP,
    WORKLOADS,
    l3_pages,
    percent,
    shared,
    sweep,
)
from .pictures import rows_by_workload, share_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.tables import Design

L3 = 2
"""Level of the L3 TLB, counted from 0."""

REUSING = {name: WORKLOADS[name] for name in ("W2", "W3", "W4", "W8")}
"""HHM, HMM, HML and MML."""

DISTANCES = [2.0**power for power in range(-6, 2)]
"""Distances that the table has, relative to what the L3 TLB holds; distances below them count."""

NEAR = 0.1
"""Nearly equal (our choice)."""

ALONE = " alone"
RUNS: dict[str, Callable[[str], Design]] = {
    "": lambda _: {"variant": BASELINE, "role": SHARED},
    ALONE: lambda app: alone(app, {"variant": BASELINE}),
}
"""By the end of a row's name: what tells the runs of an application."""


def within(result: Result, app: str, capacity: int) -> list[float]:
    """Shares of an application's reuses that are below `DISTANCES` of the capacity."""
    found = reuse_distances(result, L3)
    distances = found.loc[found["app"] == app, "distance"].to_numpy()
    if not len(distances):
        return [float("nan")] * len(DISTANCES)
    return [float(np.mean(distances < part * capacity)) for part in DISTANCES]


def reuses(material: Material) -> pd.DataFrame:
    """Shares of reuses up to some distances, of each application together and alone."""
    import pandas as pd

    reading = partial(within, capacity=l3_pages(material))
    found = {
        row + suffix: shares
        for suffix, design_of in RUNS.items()
        for row, shares in read_applications(material, reading, REUSING, design_of).items()
    }
    names = [row + suffix for suffix in RUNS for row in rows(REUSING)]
    return pd.DataFrame(found, index=DISTANCES).T.reindex(names).rename_axis("application")


@figure(
    id="star.fig4",
    title="Fig. 4: reuse distances at the L3 TLB",
    about="Shares of the reuses with fewer distinct other translations, of all applications, "
    "between them than a part of what the L3 TLB holds (1: all its sub-entries). Baseline; exact, "
    "from the recorded lookups; NaN where an application reuses nothing.",
    sweeps=(sweep(variants=[BASELINE], workloads=REUSING.values(), record=["tlb"]),),
    table=reuses,
    draw=lambda table: share_lines(
        rows_by_workload(table, REUSING), "distance / capacity", "share of reuses", mark=1
    ),
    cell="{:.2f}",
)
def reuse(table: pd.DataFrame) -> dict[str, Measured]:
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


PERFORMANCE = "performance"


def hit_rates_and_performance(material: Material) -> pd.DataFrame:
    """Hit rates of each application, and its performance with STAR relative to the baseline."""
    designs = shared([BASE, STAR])
    found = of_applications(material, "tlb_L3_hit_rate", WORKLOADS, designs)
    ipcs = of_applications(material, "ipc", WORKLOADS, designs)
    found[PERFORMANCE] = ipcs[STAR] / ipcs[BASE]
    return found.rename_axis("application")


@figure(
    id="star.fig11",
    title="Fig. 11: L3 TLB hit rates",
    about="Of each application up to the end of its first run.",
    sweeps=(STAR_SWEEP,),
    table=hit_rates_and_performance,
    draw=Bars("L3 TLB hit rate", lambda table: table[[BASE, STAR]]),
)
def hit_rates(table: pd.DataFrame) -> dict[str, Measured]:
    """Relative to the baseline's."""
    more = percent(table[STAR] / table[BASE])
    means = table[[BASE, STAR]].mean()
    return {
        "star.fig11.hit_rate": number(
            percent(means[STAR] / means[BASE]),
            text=f"mean hit rates {means[BASE]:.1%} and {means[STAR]:.1%}",
        ),
        "star.fig11.st_w2": number(more["W2.ST"], percent(table[PERFORMANCE]["W2.ST"])),
    }


SHARING = {name: WORKLOADS[name] for name in ("W2", "W7")}
PARTS = 10
"""Equal parts of a run."""

EVENTS = ("shares", "reverts", "conflicts", "evictions")


def over_time(result: Result) -> pd.DataFrame:
    """Events per 1000 cycles in each part of a run, which ends with the last first run."""
    import pandas as pd

    events = result.table("sharing")
    events = events[events["level"] == L3]
    end = int(result.applications["end"].max())
    edges = np.linspace(0, end, PARTS + 1)
    counts = events[list(EVENTS)].astype(np.int64)  # recorded in two bytes: products would not fit
    found = {
        name: np.histogram(events["cycle"], edges, weights=counts[name])[0] * 1000 * PARTS / end
        for name in EVENTS
    }
    return pd.DataFrame(found, index=[100 * part // PARTS for part in range(1, PARTS + 1)])


def events_over_time(material: Material) -> pd.DataFrame:
    """What happens in each tenth of a run, per 1000 cycles."""
    import pandas as pd

    found = material.read(over_time, SHARING, {"variant": DESIGNS[STAR]})
    parts = [one.add_prefix(f"{name} ") for name, one in found.items()]
    return pd.concat(parts, axis=1).rename_axis("% of the run")


def draw_events(table: pd.DataFrame) -> Picture:
    """A panel a workload."""
    figure = new_figure("page", height=2.4)
    for place, name in zip(figure.subplots(1, len(SHARING)), SHARING, strict=True):
        of_workload = table[[f"{name} {event}" for event in EVENTS]]
        sweep_lines(
            of_workload.set_axis(list(EVENTS), axis=1),
            ylabel="per 1000 cycles",
            title=name,
            ax=place,
        )
    return figure


SHARED_ENTRIES = Figure(
    id="star.sec5.sharing",
    title="§V-B: shared entries over time",
    about="Of the L3 TLB, per 1000 cycles in each tenth of the run: bases that joined an entry of "
    "another one, entries that went back to one base, pages that lost their sub-entry to another "
    "page of their base, entries evicted.",
    sweeps=(
        sweep(variants=[DESIGNS[STAR]], workloads=SHARING.values(), alone=(), record=["sharing"]),
    ),
    table=events_over_time,
    draw=draw_events,
    after="star.fig14",
)
