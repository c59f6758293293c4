"""STAR Fig. 13: sub-entries in use at eviction with STAR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number

from .common import (
    BASE,
    DESIGNS,
    STAR,
    STAR_SWEEP,
    STUDIED,
    SUB_ENTRIES,
    USED,
    WORKLOADS,
    evicted_together,
    mean_used,
    panels,
    percent,
    shares_up_to,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

MEAN, EVICTIONS = "mean share", "evictions"


def table(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most so many in use, of all applications of a workload."""
    import pandas as pd

    parts = []
    for design in (BASE, STAR):
        counts = evicted_together(material, WORKLOADS, DESIGNS[design])
        workload = counts.index.str.partition(".").get_level_values(0)
        whole = counts.groupby(workload, sort=False).sum()
        parts.append(whole.set_axis(whole.index + f" {design}"))
    counts = pd.concat(parts)
    found = shares_up_to(counts)
    found[EVICTIONS] = counts.sum(axis=1)
    found[MEAN] = mean_used(counts) / SUB_ENTRIES
    order = [f"{name} {design}" for name in WORKLOADS for design in (BASE, STAR)]
    return found.loc[order].rename_axis("workload")


def draw(table: pd.DataFrame) -> Picture:
    """A panel a workload, six of them."""
    shares = table[list(USED)]
    tables = {
        name: shares.loc[[f"{name} {BASE}", f"{name} {STAR}"]].rename(
            lambda row: row.partition(" ")[2]
        )
        for name in STUDIED
    }
    return panels(tables, "sub-entries in use", "share of evictions")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means of those workloads that evict entries on both."""
    mean = table[MEAN]
    more = [percent(mean[f"{name} {STAR}"] / mean[f"{name} {BASE}"]) for name in WORKLOADS]
    there = [value for value in more if value == value]  # noqa: PLR0124 NaN: nothing was evicted
    value = sum(there) / len(there) if there else float("nan")
    return {"star.fig13.utilisation": number(value, text=f"of {len(there)} workloads")}


FIGURE = Figure(
    id="star.fig13",
    title="Fig. 13: sub-entries in use at eviction with STAR",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, those of all "
    "bases of an entry together; – without evictions. Reverts are no evictions.",
    claims=("star.fig13.utilisation",),
    sweeps=(STAR_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.3g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
