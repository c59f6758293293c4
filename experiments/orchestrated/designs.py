"""ORCH's designs beside the baseline: hit rates, times, resident warps, huge pages, compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    Bars,
    Material,
    Measured,
    all_of,
    figure,
    mean_points,
    most,
    normalised,
    number,
    numbers,
    one,
    points,
    reduction,
)
from gpusim.studies.reproduce.verdict import POOR
from gpusim.views.plots.ratios import geometric_mean

from .common import DESIGNS, PROGRAMS, PROPOSAL, sweep

if TYPE_CHECKING:
    import pandas as pd

HIT_RATE = "tlb_L1_hit_rate_mean"
"""Mean over the SMs."""


@figure(
    id="orch.fig2",
    title="Fig. 2: L1 TLB hit rates with 64 and 256 entries",
    about="Mean of the hit rates of all SMs; 4 ways.",
    sweeps=(sweep(variants=["baseline", "l1-tlb-256"]),),
    table=numbers(
        HIT_RATE,
        PROGRAMS,
        {"64 entries": {"variant": "baseline"}, "256 entries": {"variant": "l1-tlb-256"}},
    ),
    draw=Bars("L1 TLB hit rate"),
)
def hit_rates_by_size(table: pd.DataFrame) -> dict[str, Measured]:
    """How many are poor, and how many gain."""
    small, large = table["64 entries"], table["256 entries"]
    return {
        "orch.fig2.low_hit": most(small < POOR),
        "orch.fig2.larger_tlb_helps": most(
            points(table, "256 entries", "64 entries") >= 1, at_least_half=True
        ),
        "orch.fig2.nw_stays_low": one(large["nw"], large["nw"] < POOR),
        "orch.fig2.gemm_high": one(small["gemm"], small["gemm"] >= POOR),
    }


LOSE = ["bfs", "color", "mis", "pagerank", "3dconv", "gemm"]
GAIN = ["atax", "bicg", "nw", "mvt"]
TIME = " time"


def hit_rates_and_times(material: Material) -> pd.DataFrame:
    """Hit rates of all designs; the times of partitioning and sharing, relative to the baseline."""
    rates = material.numbers(HIT_RATE, PROGRAMS, DESIGNS)
    times = normalised(material.numbers("cycles", PROGRAMS, DESIGNS))
    return rates.join(times[["partitioning", PROPOSAL]].add_suffix(TIME))


@figure(
    id="orch.fig10",
    title="Fig. 10: L1 TLB hit rates of the designs",
    about="Mean of the hit rates of all SMs; each design has what the one before has. The last "
    "two columns are execution times, relative to the baseline.",
    sweeps=(sweep(variants=DESIGNS),),
    table=hit_rates_and_times,
    draw=Bars("L1 TLB hit rate", lambda table: table[list(DESIGNS)]),
)
def hit_rates(table: pd.DataFrame) -> dict[str, Measured]:
    """Which programs partitioning hurts and helps, and what sharing adds."""
    parts, full = points(table, "partitioning"), points(table, PROPOSAL)
    over_parts = mean_points(table, PROPOSAL, "partitioning")
    saved = reduction(table, PROPOSAL + TIME, "partitioning" + TIME)
    return {
        "orch.fig10.partition_degrades": most(parts[LOSE] <= -1),
        "orch.fig10.partition_helps_four": all_of(parts[GAIN], lambda gained: gained >= 1),
        "orch.fig10.full_hit_up": mean_points(table, PROPOSAL, "baseline"),
        "orch.fig10.share_beats_partition": Measured(
            holds=bool(over_parts.holds and saved > 0),
            text=f"{over_parts.text}; time cut by {saved:.1f} %",
        ),
        "orch.fig10.gemm_no_harm": all_of(full[["gemm"]], lambda gained: gained > -1),
    }


FASTER = ["atax", "bicg", "mvt"]


@figure(
    id="orch.fig11",
    title="Fig. 11: execution times of the designs",
    about="Cycles, relative to the baseline; each design has what the one before has.",
    sweeps=(sweep(variants=DESIGNS),),
    table=numbers("cycles", PROGRAMS, DESIGNS, normalised),
    draw=Bars("execution time,\nrelative to the baseline", line="baseline", geomean=True),
)
def execution_times(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric means over the programs."""
    changes = 100 * (table["partitioning"] - 1)
    return {
        "orch.fig11.sched_only": number(reduction(table, "scheduling")),
        "orch.fig11.partition_only": number(-reduction(table, "partitioning")),
        "orch.fig11.full": number(reduction(table, PROPOSAL)),
        "orch.fig11.partition_helps_perf": all_of(
            changes[FASTER], lambda change: change < 0, "{:+.1f} %"
        ),
        "orch.fig11.nw_no_speedup": number(table[PROPOSAL]["nw"]),
    }


SCHEDULERS = DESIGNS[:2]


def resident_warps(material: Material) -> pd.DataFrame:
    """Mean number of warps on the GPU at a time."""
    lives = material.numbers("warp_cycles", PROGRAMS, SCHEDULERS)
    return lives / material.numbers("cycles", PROGRAMS, SCHEDULERS)


@figure(
    id="orch.secIV.residency",
    title="§IV-A: warps resident at a time",
    about="Warps on the GPU, mean over the cycles of a run.",
    sweeps=(sweep(variants=SCHEDULERS),),
    table=resident_warps,
    draw=Bars("resident warps,\nrelative to the baseline", line="baseline", geomean=True),
    cell="{:.1f}",
)
def residency(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric mean over the programs."""
    ratios = normalised(table)["scheduling"]
    return {"orch.secIV.no_throttle": number(geometric_mean(ratios.to_numpy()))}


HUGE = "huge-pages"
ON_HUGE = [HUGE, *(f"{design}+{HUGE}" for design in DESIGNS[1:])]
COMPARED = ["baseline", PROPOSAL, *ON_HUGE]
RATE = " hit rate"


def by_page_size(material: Material) -> pd.DataFrame:
    """Cycles relative to the baseline with 4 KB pages; hit rates of the two baselines."""
    times = normalised(material.numbers("cycles", PROGRAMS, COMPARED))
    rates = material.numbers(HIT_RATE, PROGRAMS, ["baseline", HUGE])
    return times.join(rates.add_suffix(RATE))


def on_huge_pages(table: pd.DataFrame) -> pd.DataFrame:
    """The designs on large pages, by their own names."""
    times = table[ON_HUGE].rename(columns={HUGE: "baseline"})
    times.columns = times.columns.str.removesuffix(f"+{HUGE}")
    return times


@figure(
    id="orch.secV.huge_pages",
    title="§V: pages of 2 MB",
    about="Cycles relative to the baseline with 4 KB pages, and hit rates of the baselines; the "
    "picture is relative to the baseline with 2 MB pages.",
    sweeps=(sweep(variants=COMPARED),),
    table=by_page_size,
    draw=Bars(
        "execution time, relative to\nthe baseline with 2 MB pages",
        on_huge_pages,
        line="baseline",
        geomean=True,
    ),
)
def huge_pages(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric means over the programs, and the hit rates of two."""
    small, huge = reduction(table, PROPOSAL), reduction(table, f"{PROPOSAL}+{HUGE}", HUGE)
    gained = points(table, HUGE + RATE, "baseline" + RATE)
    return {
        "orch.secV.huge_page_hit": all_of(gained[["gemm", "mvt"]], lambda rate: rate >= 1),
        "orch.secV.huge_page_gain": number(huge),
        "orch.secV.huge_less_than_small": number(small, huge),
    }


COMPRESSION = "compression-l1"
BOTH = f"{COMPRESSION}+{PROPOSAL}"
SPEEDUP = "speedup"


def with_compression(material: Material) -> pd.DataFrame:
    """Cycles relative to the baseline, and the speedup of both over compression alone."""
    cycles = material.numbers("cycles", PROGRAMS, ["baseline", COMPRESSION, BOTH])
    return normalised(cycles).assign(**{SPEEDUP: cycles[COMPRESSION] / cycles[BOTH]})


@figure(
    id="orch.fig12",
    title="Fig. 12: on top of TLB compression",
    about="L1 TLBs that are half compressed, at one more cycle a lookup, alone and with "
    "scheduling, partitioning and sharing. Columns: cycles relative to the baseline; the "
    "speedup over compression alone.",
    sweeps=(sweep(variants=["baseline", COMPRESSION, BOTH]),),
    table=with_compression,
    draw=Bars(
        "speedup over compression\nalone",
        lambda table: table[[SPEEDUP]].set_axis([BOTH], axis=1).assign(baseline=1.0),
        line="baseline",
        geomean=True,
    ),
)
def on_top_of_compression(table: pd.DataFrame) -> dict[str, Measured]:
    """The geometric mean over the programs."""
    time = 1 - reduction(table, BOTH, COMPRESSION) / 100
    return {"orch.fig12.plus_compression": number(100 * (1 / time - 1))}
