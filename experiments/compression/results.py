"""COMP's results: L2 TLB hit rates and performance with compression, and its design points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    Bars,
    Figure,
    Material,
    Measured,
    counted,
    figure,
    gain,
    mean_points,
    number,
    panels,
    programs_of,
)

from . import rebasing
from .common import IRREGULAR, L2_RATE, PROGRAMS, REGULAR, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from gpusim.results.result import Result

VARIANTS = ("baseline", "compression")
GAIN = "gain in %"
WITH_R = "gain, R = "
APART = ", merged left out"
"""In the names of columns: hit rates of the lookups that merged with no walk under way."""


def rate_apart(result: Result) -> float:
    """L2 TLB hit rate without the lookups that waited for a walk of another."""
    counts = counted(result, "tlb/L2")
    return counts["hits"] / max(counts["lookups"] - counts["merged"], 1)


def rates_and_gain(material: Material) -> pd.DataFrame:
    """Hit rates, and the gain in percent."""
    import pandas as pd

    rates = material.numbers(L2_RATE, PROGRAMS, VARIANTS)
    cycles = material.numbers("cycles", PROGRAMS, VARIANTS)
    apart = {
        name + APART: material.read(rate_apart, PROGRAMS, {"variant": name}) for name in VARIANTS
    }
    found = rates.join(pd.DataFrame(apart)).assign(**{GAIN: gain(cycles, "compression")})
    return found.join(rebasing.gains_of(material).add_prefix(WITH_R))


def speedup(table: pd.DataFrame) -> pd.DataFrame:
    """Speedup of compression over the baseline."""
    return (table[[GAIN]] / 100 + 1).set_axis(["compression"], axis=1).assign(baseline=1.0)


def interval(gains: pd.Series) -> str:
    """The ends of a gain over the R that were tried."""
    low, high = (f"{end:.3g}" if abs(end) < 1000 else f"{end:,.0f}" for end in _ends(gains))
    return f"{low} to {high} over R"


def _ends(gains: pd.Series) -> tuple[float, float]:
    return float(gains.min()), float(gains.max())


@figure(
    id="comp.abs",
    title="Hit rates and speedup with compression",
    about="An L2 TLB of which half of the ways are compressed, beside a plain one of as many "
    "ways. A lookup that merges with a walk under way is a miss, or left out. Last columns: gains "
    "by R, insertions that do not match before a set gives up its base.",
    sweeps=(sweep(variants=VARIANTS), *rebasing.SWEEPS),
    table=rates_and_gain,
    draw=panels(
        Bars("L2 TLB hit rate", lambda table: table[list(VARIANTS)]),
        Bars("speedup over the baseline", speedup, line="baseline", geomean=True),
    ),
)
def gains(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic means over the programs, each with its interval over R."""
    gains = table[GAIN]
    by_r = table.filter(like=WITH_R)
    means, largest = by_r.mean(), by_r.max()
    return {
        "comp.abs.avg_gain": number(gains.mean(), text=interval(means)),
        "comp.abs.irregular_gain": number(
            gains[IRREGULAR].mean(), text=interval(by_r.loc[IRREGULAR].mean())
        ),
        "comp.abs.max_gain": number(gains.max(), text=f"{gains.idxmax()}; {interval(largest)}"),
        "comp.derived.regular_gain": number(
            gains[REGULAR].mean(), text=interval(by_r.loc[REGULAR].mean())
        ),
        "comp.abs.hit_rate_up": mean_points(table, "compression", "baseline", least=5),
    }


POINTS = {
    "baseline": "baseline",
    "compression": "half",
    "compression-unpartitioned": "all",
    "compression-no-rebase": "half, no rebase",
    "cluster-tlb": "cluster",
}
"""Variants, and how they are called here."""

WIDE = ["atax", "bicg", "mvt"]
"""Programs whose lanes are a row apart."""

GAIN_OF = " gain in %"


def rates_and_times(
    material: Material, programs: Mapping[str, str], designs: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hit rates, and cycles: a column a design, by its name here."""
    rates = material.numbers(L2_RATE, programs, list(designs)).rename(columns=designs)
    return rates, material.numbers("cycles", programs, list(designs)).rename(columns=designs)


def design_points(material: Material) -> pd.DataFrame:
    """Hit rates, and gains in percent."""
    rates, cycles = rates_and_times(material, PROGRAMS, POINTS)
    others = list(POINTS.values())[1:]
    return rates.assign(**{name + GAIN_OF: gain(cycles, name) for name in others})


def speedups(table: pd.DataFrame) -> pd.DataFrame:
    """Over the baseline, which stays so that designs have the colours of the hit rates."""
    names = list(POINTS.values())
    gains = table[[name + GAIN_OF for name in names[1:]]]
    gains.columns = gains.columns.str.removesuffix(GAIN_OF)
    return (gains / 100 + 1).assign(baseline=1.0)[names]


@figure(
    id="comp.design.points",
    title="Design points: partition split, rebasing, cluster TLB",
    about="The baseline compresses no way, *half* is `compression`, *all* has no plain ways, "
    "*cluster* maps aligned clusters of 8 pages.",
    sweeps=(sweep(variants=list(POINTS)),),
    table=design_points,
    draw=panels(
        Bars("L2 TLB hit rate", lambda table: table[list(POINTS.values())]),
        Bars("speedup over the baseline", speedups, geomean=True, limit=3),
    ),
)
def points(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the programs."""
    return {
        "comp.design.rebase_helps": mean_points(table, "half", "half, no rebase"),
        "comp.rel.cluster_tlb_stride": mean_points(table.loc[WIDE], "half", "cluster"),
    }


ORCH = programs_of("orchestrated")
QUARTERS = {"quarter": "baseline", "quarter+compression": "compression"}


def under_pressure(material: Material) -> pd.DataFrame:
    """Hit rates, and gains in percent."""
    rates, cycles = rates_and_times(material, ORCH, QUARTERS)
    return rates.assign(**{GAIN: gain(cycles, "compression")})


PRESSURE = Figure(
    id="comp.design.pressure",
    title="Sensitivity: an L2 TLB under pressure",
    about="ORCH's ten programs at ORCH's sizes on a quarter of the machine (variant `quarter`), "
    "whose L2 TLB has 128 entries: a set sees every eighth page, so that the 512 frames of a base "
    "hold 64 of its pages.",
    sweeps=(sweep(variants=list(QUARTERS), workloads=ORCH.values()),),
    table=under_pressure,
    draw=Bars("L2 TLB hit rate", lambda table: table[list(QUARTERS.values())]),
    after="comp.design.frames",
)
