"""What the parts of MASK do: TLB-fill tokens, the L2 bypass, the DRAM scheduler (§7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Bars, Material, Measured, figure, number, with_average
from gpusim.studies.reproduce.mixes import of_applications, together
from gpusim.studies.sweep.point import SHARED

from .common import BASELINES, MAIN, PAIRS, PARTS, pair_sweep

if TYPE_CHECKING:
    import pandas as pd

BASE, TOKENS, CACHE, DRAM = "SharedTLB", "MASK-TLB", "MASK-Cache", "MASK-DRAM"
VARIANTS = {**BASELINES, **PARTS}

BYPASS = "bypass cache"
SAME = 0.05
"""Hit rates that are nearly equal (our choice)."""


def tlb_hit_rates(material: Material) -> pd.DataFrame:
    """L2 TLB hit rates of each pair, those of the bypass cache last."""
    designs = {name: VARIANTS[name] for name in ("Static", BASE, TOKENS)}
    rates = material.numbers("tlb_L2_hit_rate", PAIRS, together(designs))
    bypass = material.numbers("tlb_L2_bypass_hit_rate", PAIRS, together({BYPASS: VARIANTS[TOKENS]}))
    return with_average(rates.join(bypass))


@figure(
    id="mask.sec72.tokens",
    title="§7.2: TLB-fill tokens",
    about="Hit rates of the L2 TLB, with MASK-TLB those of the bypass cache included; its own "
    "are of the lookups that the L2 TLB could not answer.",
    sweeps=(MAIN,),
    table=tlb_hit_rates,
    draw=Bars("L2 TLB hit rate"),
)
def tokens(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    apart = abs(mean["Static"] - mean[BASE])
    return {
        "mask.sec72.tlb_hit": number(100 * (mean[TOKENS] / mean[BASE] - 1)),
        "mask.sec72.bypass_cache_hit": number(100 * mean[BYPASS]),
        "mask.sec72.static_same_hit": Measured(
            holds=bool(apart < SAME), text=f"{mean['Static']:.1%} and {mean[BASE]:.1%}"
        ),
    }


PAST = "past the L2 cache"


def page_table_reads(material: Material) -> pd.DataFrame:
    """L2 cache hit rates of page-table reads, and the share of them that goes past it."""
    designs = {name: VARIANTS[name] for name in (BASE, CACHE)}
    rates = material.numbers("l2_translation_hit_rate", PAIRS, together(designs))
    past = material.numbers("l2_bypassed", PAIRS, together({PAST: VARIANTS[CACHE]}))
    return with_average(rates.join(past))


@figure(
    id="mask.sec72.cache",
    title="§7.2: L2 bypass",
    about="L2 cache hit rates of the page-table reads that go there.",
    sweeps=(MAIN,),
    table=page_table_reads,
    draw=Bars("share of page-table reads"),
)
def l2_bypass(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the pairs."""
    mean = table.T[AVERAGE]
    text = f"SharedTLB {mean[BASE]:.1%}; {mean[PAST]:.1%} go past"
    return {"mask.sec72.l2_translation_hit": number(100 * mean[CACHE], text=text)}


LATENCY, BANDWIDTH = " latency", " bandwidth"


def latency_and_bandwidth(material: Material) -> pd.DataFrame:
    """DRAM latency of page-table reads in core cycles, and the bandwidth used in GB/s."""
    designs = together({name: VARIANTS[name] for name in (BASE, DRAM)})
    latency = material.numbers("dram_translation_latency", PAIRS, designs)
    bandwidth = material.numbers("dram_bandwidth", PAIRS, designs)
    return latency.add_suffix(LATENCY).join(bandwidth.add_suffix(BANDWIDTH))


def relative_to_base(table: pd.DataFrame) -> pd.DataFrame:
    """MASK-DRAM relative to SharedTLB."""
    import pandas as pd

    return pd.DataFrame(
        {what.strip(): table[DRAM + what] / table[BASE + what] for what in (LATENCY, BANDWIDTH)}
    )


@figure(
    id="mask.sec72.dram",
    title="§7.2: DRAM scheduler",
    about="DRAM latency of page-table reads in core cycles, and bandwidth used in GB/s.",
    sweeps=(MAIN,),
    table=latency_and_bandwidth,
    draw=Bars("MASK-DRAM relative\nto SharedTLB", relative_to_base),
    cell="{:.1f}",
)
def dram_scheduler(table: pd.DataFrame) -> dict[str, Measured]:
    """The pairs with the largest changes."""
    changes = relative_to_base(table)
    saved, more = 100 * (1 - changes["latency"]), 100 * (changes["bandwidth"] - 1)
    text = f"{saved.idxmax()} and {more.idxmax()}; means {saved.mean():.1f} and {more.mean():.1f} %"
    return {"mask.sec72.dram_effects": number(saved.max(), more.max(), text=text)}


HELPABLE = {name: PAIRS[name] for name in ("SCAN_SRAD", "SCAN_CONS")}
SILVER, NORMAL, PATIENCE = (f"dram.scheduler.{name}" for name in ("silver", "normal", "patience"))
QUEUES = {"with": (64, 192, 0), "with, patience": (64, 192, 1000), "without": (1, 255, 0)}
HELPED = ["SCAN_SRAD.SRAD", "SCAN_CONS.SCAN", "SCAN_CONS.CONS"]


def ipcs_by_queues(material: Material) -> pd.DataFrame:
    """IPCs of each application."""
    designs = {
        name: {"variant": PARTS[DRAM], "role": SHARED, SILVER: silver, PATIENCE: patience}
        for name, (silver, _, patience) in QUEUES.items()
    }
    return of_applications(material, "ipc", HELPABLE, designs)


@figure(
    id="mask.sec72.silver_queue",
    title="§7.2: silver queue",
    about="IPCs with MASK-DRAM; with no read staying in the normal queue for more than 1,000 "
    "cycles (`patience`); and with a silver queue of one entry, the others being normal.",
    sweeps=(
        pair_sweep(
            variants=[PARTS[DRAM]],
            workloads=HELPABLE.values(),
            alone=(),
            set={f"{SILVER}, {NORMAL}, {PATIENCE}": list(map(list, QUEUES.values()))},
        ),
    ),
    table=ipcs_by_queues,
    draw=Bars("IPC"),
)
def silver_queue(table: pd.DataFrame) -> dict[str, Measured]:
    """Effect of the silver queue, for the three applications that the paper names."""
    gained = 100 * (table["with"] / table["without"] - 1)[HELPED]
    return {"mask.sec72.silver_queue": number(*gained)}
