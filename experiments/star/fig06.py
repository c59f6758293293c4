"""STAR Fig. 6: sub-entries in use at eviction, applications together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number

from .common import (
    BASE_SWEEP,
    SUB_ENTRIES,
    USED,
    WORKLOADS,
    evicted_alone,
    evicted_together,
    mean_used,
    panels,
    shares_up_to,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = ("W1", "W2", "W3", "W4", "W7", "W11")
"""HHH, HHM, HMM, HML, MMM and LLL."""

MEAN, EVICTIONS, ALONE, ALL = "mean", "evictions", " alone", "all of W1 to W11"
HALF = SUB_ENTRIES // 2
NEARLY_FULL = SUB_ENTRIES - 1


def table(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most so many in use, together and alone."""
    import pandas as pd

    together = evicted_together(material, WORKLOADS)
    shown = {name: WORKLOADS[name] for name in SHOWN}
    lonely = evicted_alone(material, shown).rename(lambda row: row + ALONE)
    part = together[together.index.str.partition(".").get_level_values(0).isin(SHOWN)]
    counts = pd.concat([part, lonely, together.sum().to_frame(ALL).T])
    found = shares_up_to(counts)
    found[EVICTIONS] = counts.sum(axis=1)
    found[MEAN] = mean_used(counts)
    return found.rename_axis("application")


def draw(table: pd.DataFrame) -> Picture:
    """A panel a workload; those alone that evict anything."""
    shares = table[list(USED)]
    tables = {
        name: shares[shares.index.str.startswith(f"{name}.")].rename(
            lambda row: row.partition(".")[2]
        )
        for name in SHOWN
    }
    return panels(tables, "sub-entries in use", "share of evictions")


def _is_lower(table: pd.DataFrame) -> pd.Series:
    """Of the applications that evict beside others, but for LLL: whether their mean is lower."""
    together = table[~table.index.str.endswith(ALONE) & (table.index != ALL)][MEAN]
    together = together[~together.index.str.startswith("W11.")].dropna()
    lonely = table[MEAN].reindex(together.index + ALONE).set_axis(together.index)
    return (together < lonely) | (lonely.isna() & (together <= NEARLY_FULL))


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Shares of some."""
    lower = _is_lower(table)
    st_alone = 1 - table[NEARLY_FULL]["W2.ST" + ALONE]
    two = table[2] - table[1]
    return {
        "star.fig6.corun_lower": Measured(
            holds=bool(2 * lower.sum() > len(lower)),
            text=f"{int(lower.sum())} of {len(lower)} applications",
        ),
        "star.fig6.atax_w1": number(100 * table[HALF - 1]["W1.ATAX"]),
        "star.fig6.st_w2": number(100 * table[1]["W2.ST"], 100 * st_alone),
        "star.fig6.st_s_w4_w7": number(100 * two["W4.ST_s"], 100 * two["W7.ST_s"]),
        "star.sec5.over_half_underused": number(100 * table[HALF - 1][ALL]),
    }


FIGURE = Figure(
    id="star.fig6",
    title="Fig. 6: sub-entries in use at eviction, together",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, baseline; "
    "alone is on an instance of the same size; – without evictions.",
    claims=(
        "star.fig6.corun_lower",
        "star.fig6.atax_w1",
        "star.fig6.st_w2",
        "star.fig6.st_s_w4_w7",
        "star.sec5.over_half_underused",
    ),
    sweeps=(BASE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.3g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
