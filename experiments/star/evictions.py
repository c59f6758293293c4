"""Sub-entries in use when STAR's L3 TLB evicts an entry: alone, together, with STAR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Material, Measured, counted, figure, number
from gpusim.studies.reproduce.mixes import alone, read_applications, rows
from gpusim.studies.sweep.point import BASELINE, SHARED

from .common import (
    ALONE_SWEEP,
    BASE,
    BASE_SWEEP,
    DESIGNS,
    PROGRAMS,
    STAR,
    STAR_SWEEP,
    STUDIED,
    WORKLOADS,
    percent,
)
from .pictures import rows_by_workload, share_lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result
    from gpusim.studies.reproduce.tables import Design

SUB_ENTRIES = 16
"""Sub-entries of an entry (Table I)."""

USED = range(1, SUB_ENTRIES + 1)
"""How many of them may be in use when an entry is evicted."""


def evicted(result: Result, app: str) -> list[int]:
    """L3 TLB entries of an application by the sub-entries in use at eviction (`USED`)."""
    counts = counted(result, "tlb/L3", app)
    return [counts[f"evicted_with_{used}"] for used in USED]


def evicted_together(
    material: Material, workloads: Mapping[str, str], variant: str = BASELINE
) -> pd.DataFrame:
    """Entries that were evicted while several applications ran: a row ``W.APP``."""
    return _evicted(material, workloads, lambda _: {"variant": variant, "role": SHARED})


def evicted_alone(material: Material, workloads: Mapping[str, str]) -> pd.DataFrame:
    """Evictions of each application alone, on an instance of the same size."""
    return _evicted(material, workloads, lambda app: alone(app, {"variant": BASELINE}))


def _evicted(
    material: Material, workloads: Mapping[str, str], design_of: Callable[[str], Design]
) -> pd.DataFrame:
    found = read_applications(material, evicted, workloads, design_of)
    return count_table(found).reindex(list(rows(workloads)))


def count_table(counts: Mapping[str, list[int]]) -> pd.DataFrame:
    """Counts for each of `USED`: a row a name."""
    import pandas as pd

    return pd.DataFrame(dict(counts), index=list(USED)).T


def shares_up_to(counts: pd.DataFrame) -> pd.DataFrame:
    """Cumulative shares of a table of counts; NaN in rows without any."""
    return counts.cumsum(axis=1).div(counts.sum(axis=1), axis=0)


def mean_used(counts: pd.DataFrame) -> pd.Series:
    """Mean of the columns, weighted by the counts; NaN in rows without any."""
    return (counts * counts.columns).sum(axis=1) / counts.sum(axis=1)


def draw_shares(tables: Mapping[str, pd.DataFrame]) -> Picture:
    """A panel a table of cumulative shares."""
    return share_lines(tables, "sub-entries in use", "share of evictions")


EVICTIONS, MEAN, COMMONEST = "evictions", "mean", "commonest"


def _only(result: Result) -> list[int]:
    (app,) = result.applications["name"]
    return evicted(result, app)


def programs_alone(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most 1 to 16 sub-entries in use, alone on three slices."""
    counts = count_table(material.read(_only, PROGRAMS, {"variant": BASELINE}))
    total = counts.sum(axis=1)
    found = shares_up_to(counts)
    found[EVICTIONS] = total
    found[MEAN] = mean_used(counts)
    found[COMMONEST] = counts.idxmax(axis=1).where(total > 0)
    return found.rename_axis("program")


@figure(
    id="star.fig5",
    title="Fig. 5: sub-entries in use at eviction, alone",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, each "
    "application alone on three slices; – without evictions.",
    sweeps=(ALONE_SWEEP,),
    table=programs_alone,
    draw=lambda table: draw_shares({"": table[list(USED)]}),
    cell="{:.3g}",
)
def evictions_alone(table: pd.DataFrame) -> dict[str, Measured]:
    """Means and shares of some."""
    fit = ["ATAX", "BFS", "BICG", "NW"]
    return {
        "star.fig5.stream_full": number(*table[MEAN][["FIR", "FFT"]]),
        "star.fig5.mt_four": number(table[COMMONEST]["MT"]),
        "star.fig5.st_half": number(100 * table[len(USED) // 2]["ST"]),
        "star.fig5.no_evictions": number(*table[EVICTIONS][fit]),
    }


SHOWN = ("W1", "W2", "W3", "W4", "W7", "W11")
"""HHH, HHM, HMM, HML, MMM and LLL."""

ALONE, ALL = " alone", "all of W1 to W11"
HALF = SUB_ENTRIES // 2
NEARLY_FULL = SUB_ENTRIES - 1


def together_and_alone(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most 1 to 16 sub-entries in use, together and alone."""
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


def _is_lower(table: pd.DataFrame) -> pd.Series:
    """Whether the mean is lower, of the applications that evict beside others, but for LLL."""
    together = table[~table.index.str.endswith(ALONE) & (table.index != ALL)][MEAN]
    together = together[~together.index.str.startswith("W11.")].dropna()
    lonely = table[MEAN].reindex(together.index + ALONE).set_axis(together.index)
    return (together < lonely) | (lonely.isna() & (together <= NEARLY_FULL))


@figure(
    id="star.fig6",
    title="Fig. 6: sub-entries in use at eviction, together",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, baseline; "
    "alone is on an instance of the same size; – without evictions.",
    sweeps=(BASE_SWEEP,),
    table=together_and_alone,
    draw=lambda table: draw_shares(rows_by_workload(table[list(USED)], SHOWN)),
    cell="{:.3g}",
)
def evictions_together(table: pd.DataFrame) -> dict[str, Measured]:
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


MEAN_SHARE = "mean share"


def with_star(material: Material) -> pd.DataFrame:
    """Shares of evictions with at most 1 to 16 sub-entries in use, a row a workload and design."""
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
    found[MEAN_SHARE] = mean_used(counts) / SUB_ENTRIES
    order = [f"{name} {design}" for name in WORKLOADS for design in (BASE, STAR)]
    return found.loc[order].rename_axis("workload")


def draw_six(table: pd.DataFrame) -> Picture:
    """A panel a workload, six of them."""
    shares = table[list(USED)]
    tables = {
        name: shares.loc[[f"{name} {BASE}", f"{name} {STAR}"]].rename(
            lambda row: row.partition(" ")[2]
        )
        for name in STUDIED
    }
    return draw_shares(tables)


@figure(
    id="star.fig13",
    title="Fig. 13: sub-entries in use at eviction with STAR",
    about="Shares of the L3 TLB's evictions with at most 1 to 16 sub-entries in use, those of all "
    "bases of an entry together; – without evictions. Reverts are no evictions.",
    sweeps=(STAR_SWEEP,),
    table=with_star,
    draw=draw_six,
    cell="{:.3g}",
)
def evictions_with_star(table: pd.DataFrame) -> dict[str, Measured]:
    """Means of those workloads that evict entries on both."""
    mean = table[MEAN_SHARE]
    more = [percent(mean[f"{name} {STAR}"] / mean[f"{name} {BASE}"]) for name in WORKLOADS]
    there = [value for value in more if value == value]  # noqa: PLR0124 NaN: nothing was evicted
    value = sum(there) / len(there) if there else float("nan")
    return {"star.fig13.utilisation": number(value, text=f"of {len(there)} workloads")}
