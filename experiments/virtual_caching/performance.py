"""Performance of virtual caching: beside an ideal MMU, large TLBs, and virtual L1 caches alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Material,
    Measured,
    figure,
    most,
    number,
    one,
    with_average,
)

from .common import (
    BASELINES,
    HIGH,
    IDEAL,
    LARGE,
    LOW,
    NOISE,
    OPT,
    PROGRAMS,
    RATES,
    SMALL,
    VC,
    WATCHED,
    cycles,
    falls,
    sweep,
    sweep_high,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd


def speedups(
    material: Material, over: str, designs: Mapping[str, str], programs: Iterable[str] = PROGRAMS
) -> pd.DataFrame:
    """Times of one design relative to those of others: a column a design, by their names."""
    times = cycles(material, [over, *designs.values()], programs)
    return (1 / times[list(designs.values())].div(times[over], axis=0)).set_axis(
        list(designs), axis=1
    )


DESIGNS = {"Baseline 512": SMALL, "Baseline 16K": LARGE, "VC W/O OPT": VC, "VC With OPT": OPT}
AVERAGE_ALL = "Average (all)"
FEW_HELPED = 0.25
"""A loss is not removed if less than this of it goes (our choice)."""

REACHED = 0.95
"""Ideal performance is reached from here on (our choice)."""

HARM = 0.99
"""Below this, a program is slower (our choice)."""


def relative_to_ideal(material: Material) -> pd.DataFrame:
    """Relative performance of each program, and averages of the high group and of all."""
    found = speedups(material, IDEAL, DESIGNS)
    found.loc[AVERAGE] = found.loc[HIGH].mean()
    found.loc[AVERAGE_ALL] = found.loc[list(PROGRAMS)].mean()
    return found


@figure(
    id="vc.fig9",
    title="Fig. 9: performance relative to an ideal MMU",
    about="Time of IDEAL MMU relative to a design's. The averages are arithmetic means over the "
    "ten programs of high translation bandwidth, and over all fifteen; the picture leaves "
    "out those of low bandwidth.",
    sweeps=(WATCHED, RATES, BASELINES, sweep(variants=[VC])),
    table=relative_to_ideal,
    draw=Bars("relative performance", lambda table: table.drop(LOW)),
)
def performance(table: pd.DataFrame) -> dict[str, Measured]:
    """Averages, and single programs."""
    small, large, plain, opt = (table[name] for name in DESIGNS)
    helped = (large[AVERAGE] - small[AVERAGE]) / (1 - small[AVERAGE])
    walkers = (opt - plain)[["fw", "bfs"]]
    faster = opt / small
    slowest = faster[LOW].min()
    gains = [100 * (faster[names].mean() - 1) for names in (LOW, HIGH)]
    return {
        "vc.fig9.base512_high": number(100 * (1 - small[AVERAGE])),
        "vc.fig9.base16k_no_help": one(helped, helped < FEW_HELPED),
        "vc.fig9.avg_all": number(100 * (1 - small[AVERAGE_ALL])),
        "vc.fig9.vc_near_ideal": number(opt[AVERAGE_ALL]),
        "vc.fig9.noopt_most": most(plain[HIGH] >= REACHED),
        "vc.fig9.fw_bfs_walks": Measured(
            holds=bool((walkers > NOISE).all()),
            text=", ".join(f"{name} {plain[name]:.3f} → {opt[name]:.3f}" for name in walkers.index),
        ),
        "vc.fig9.low_bw": Measured(
            holds=bool(slowest >= HARM and gains[0] < gains[1]),
            text=f"gain {gains[0]:.1f} % (high: {gains[1]:.1f} %); slowest: {slowest:.3f}",
        ),
    }


BIG, SPEEDUP = "large-per-cu", "VC With OPT"
ALIKE = ["bc", "fw_block", "lud"]


def over_large_tlbs(material: Material) -> pd.DataFrame:
    """Speedup over 128 entries in each compute unit and 16K in the IOMMU."""
    import pandas as pd

    times = cycles(material, [BIG, OPT], HIGH)
    return with_average(pd.DataFrame({SPEEDUP: times[BIG] / times[OPT]}))


@figure(
    id="vc.fig10",
    title="Fig. 10: virtual caches beside large per-CU TLBs",
    about="Speedup of VC With OPT over TLBs of 128 entries, fully associative, in each compute "
    "unit and 16K entries in the IOMMU; programs of high translation bandwidth.",
    sweeps=(RATES, sweep_high(variants=[BIG])),
    table=over_large_tlbs,
    draw=Bars("speedup over large\nper-CU TLBs"),
)
def beside_large_tlbs(table: pd.DataFrame) -> dict[str, Measured]:
    """The average, and three programs."""
    found = table[SPEEDUP]
    return {
        "vc.fig10.vs_large_tlb": number(100 * (found[AVERAGE] - 1)),
        "vc.fig10.comparable_three": number(*found[ALIKE], text=", ".join(ALIKE)),
    }


PARTS = {"L1-only VC (32)": "l1-vc-32", "L1-only VC (128)": "l1-vc-128", "L1 and L2 VC": OPT}


@figure(
    id="vc.fig11",
    title="Fig. 11: virtual L1 caches alone",
    about="Speedup over Baseline 16K of virtual L1 caches before per-CU TLBs of 32 and 128 "
    "entries and a physical L2 cache, and of VC With OPT; programs of high translation "
    "bandwidth (the paper does not say which).",
    sweeps=(BASELINES, RATES, sweep_high(variants=["l1-vc-32", "l1-vc-128"])),
    table=lambda material: with_average(speedups(material, LARGE, PARTS, HIGH)),
    draw=Bars("speedup over Baseline 16K"),
)
def l1_caches_alone(table: pd.DataFrame) -> dict[str, Measured]:
    """The averages; what the whole gains over its part is the mean of each program's own."""
    small, medium, whole = table.T[AVERAGE].tolist()
    single = table.drop(AVERAGE)
    further = (single["L1 and L2 VC"] / single["L1-only VC (32)"]).mean()
    return {
        "vc.fig11.l1only": number(100 * (small - 1)),
        "vc.fig11.whole_over_l1only": number(100 * (further - 1)),
        "vc.fig11.whole_total": number(100 * (whole - 1)),
        "vc.fig11.l1only_128_between": Measured(
            holds=falls([whole, medium, small]), text=f"{small:.3f}, {medium:.3f}, {whole:.3f}"
        ),
    }
