"""Pairs of MASK on the baseline, SharedTLB: TLB misses, DRAM, page-table reads by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.load import load_model
from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Material,
    Measured,
    figure,
    most,
    number,
    numbers_of_one,
    with_average,
)
from gpusim.studies.reproduce.mixes import of_applications, of_applications_alone, together
from gpusim.studies.reproduce.verdict import POINT

from .common import BASE, BASE_PAIRS, BASE_SWEEP, MODEL, PAIRS, pair_sweep

if TYPE_CHECKING:
    import pandas as pd

INTERFERING = {name: PAIRS[name] for name in ("3DS_HISTO", "CONS_LPS", "MUM_HISTO", "RED_RAY")}
ALONE, TOGETHER = "alone", "together"


def miss_rates(material: Material) -> pd.DataFrame:
    """L2 TLB miss rates of each application."""
    rate = "tlb_L2_hit_rate"
    alone = of_applications_alone(material, rate, INTERFERING, {ALONE: {"variant": BASE}})
    return 1 - alone.join(of_applications(material, rate, INTERFERING, together({TOGETHER: BASE})))


@figure(
    id="mask.fig7",
    title="Fig. 7: L2 TLB misses alone and together",
    about="SharedTLB, half of the SMs for each.",
    sweeps=(pair_sweep(variants=[BASE], workloads=INTERFERING.values()),),
    table=miss_rates,
    draw=Bars("L2 TLB miss rate"),
)
def interference(table: pd.DataFrame) -> dict[str, Measured]:
    """How many miss more often together."""
    return {"mask.fig7.interference": most(table[TOGETHER] - table[ALONE] >= POINT)}


def bandwidth(model: str) -> float:
    """What the data buses of a machine can move, in GB/s."""
    dram = load_model(model).config.dram
    bursts = dram.clock / dram.timing.BL.cycles(dram.clock)
    return dram.channels * dram.pseudo_channels * dram.burst * bursts / 1e9


def bandwidth_shares(material: Material) -> pd.DataFrame:
    """Parts of the whole bandwidth, of both applications together while both run once."""
    import pandas as pd

    kinds = {"page table": "dram_translation_bandwidth", "data": "dram_data_bandwidth"}
    found = pd.DataFrame(
        {
            kind: of_applications(material, one, PAIRS, {BASE: BASE_PAIRS})[BASE]
            for kind, one in kinds.items()
        }
    )
    pair = found.index.str.partition(".").get_level_values(0)
    shares = found.groupby(pair, sort=False).sum(min_count=1) / bandwidth(MODEL)
    return with_average(shares).rename_axis("mix")


@figure(
    id="mask.fig8",
    title="Fig. 8: DRAM bandwidth",
    about="SharedTLB. Bandwidths of the two applications, each until its first run ends, added up.",
    sweeps=(BASE_SWEEP,),
    table=bandwidth_shares,
    draw=Bars("share of the DRAM bandwidth"),
)
def dram_bandwidth(table: pd.DataFrame) -> dict[str, Measured]:
    """The part of page-table reads in what is used, and in what there is."""
    mean = 100 * table.T[AVERAGE]
    used = 100 * mean["page table"] / mean.sum()
    return {"mask.fig8.bandwidth_share": number(used, mean["page table"])}


@figure(
    id="mask.fig9",
    title="Fig. 9: DRAM latency",
    about="SharedTLB, FR-FCFS; core cycles, means over pairs last.",
    sweeps=(BASE_SWEEP,),
    table=numbers_of_one(
        {"page table": "dram_translation_latency", "data": "dram_data_latency"},
        PAIRS,
        BASE_PAIRS,
        with_average,
    ),
    draw=Bars("DRAM latency in cycles"),
    cell="{:.0f}",
)
def dram_latency(table: pd.DataFrame) -> dict[str, Measured]:
    """Which is longer on average, from the controller's queue to the end of the data."""
    walk, data = table.T[AVERAGE].to_numpy(float)
    text = f"{walk:.0f} and {data:.0f} cycles"
    return {"mask.fig9.latency_order": Measured(holds=bool(walk > data), text=text)}


@figure(
    id="mask.sec43",
    title="§4.3: L2 cache hit rates of page-table reads",
    about="SharedTLB, by level of the page table; 1 is the root.",
    sweeps=(BASE_SWEEP,),
    table=numbers_of_one(
        {f"level {level}": f"l2_level{level}_hit_rate" for level in range(1, 5)},
        PAIRS,
        BASE_PAIRS,
        with_average,
    ),
    draw=Bars("L2 cache hit rate"),
)
def hit_rates_by_level(table: pd.DataFrame) -> dict[str, Measured]:
    """On average, and of the third level in two pairs."""
    rates = 100 * table
    third = rates["level 3"]
    return {
        "mask.sec43.level_hit_rates": number(*rates.T[AVERAGE]),
        "mask.sec53.level3_varies": number(third["MM_CONS"], third["RED_RAY"]),
    }
