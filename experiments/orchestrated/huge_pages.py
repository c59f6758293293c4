"""ORCH §V: the designs with pages of 2 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, all_of, number, points, reduction
from gpusim.studies.sweep.spec import Sweep

from .common import DESIGNS, MODEL, PROGRAMS, PROPOSAL, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

HUGE = "huge-pages"
ON_HUGE = [HUGE, *(f"{design}+{HUGE}" for design in DESIGNS[1:])]
COMPARED = ["baseline", PROPOSAL, *ON_HUGE]
RATE = " hit rate"


def table(material: Material) -> pd.DataFrame:
    """Cycles relative to the baseline with 4 KB pages; hit rates of the two baselines."""
    cycles = material.numbers("cycles", PROGRAMS, COMPARED)
    rates = material.numbers("tlb_L1_hit_rate_mean", PROGRAMS, ["baseline", HUGE])
    return cycles.div(cycles["baseline"], axis=0).join(rates.add_suffix(RATE))


def draw(table: pd.DataFrame) -> Picture:
    """The designs on large pages, relative to the baseline on large pages."""
    times = table[ON_HUGE].rename(columns={HUGE: "baseline"})
    times.columns = times.columns.str.removesuffix(f"+{HUGE}")
    return bars(times, "execution time, relative to\nthe baseline with 2 MB pages")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Geometric means over the programs, and the hit rates of two."""
    small, huge = reduction(table, PROPOSAL), reduction(table, f"{PROPOSAL}+{HUGE}", HUGE)
    gained = points(table, HUGE + RATE, "baseline" + RATE)
    return {
        "orch.secV.huge_page_hit": all_of(gained[["gemm", "mvt"]], lambda rate: rate >= 1),
        "orch.secV.huge_page_gain": number(huge),
        "orch.secV.huge_less_than_small": number(small, huge),
    }


FIGURE = Figure(
    id="orch.secV.huge_pages",
    title="§V: pages of 2 MB",
    about="Cycles relative to the baseline with 4 KB pages, and hit rates of the baselines; the "
    "picture is relative to the baseline with 2 MB pages.",
    claims=(
        "orch.secV.huge_page_hit",
        "orch.secV.huge_page_gain",
        "orch.secV.huge_less_than_small",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=COMPARED),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
