"""COMP's characterisation: TLB hit rates, and what ideal TLBs would bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, gain, most, number
from gpusim.studies.reproduce.measures import POOR
from gpusim.studies.reproduce.pictures import Bars, panels
from gpusim.studies.sweep.spec import Sweep

from .common import L2_RATE, MODEL, PROGRAMS, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

IDEAL_L1, IDEAL_L2 = "ideal-l1-tlb", "ideal-l2-tlb"
VARIANTS = ("baseline", IDEAL_L1, IDEAL_L2)
L1, L2 = "L1 TLB hit rate", "L2 TLB hit rate"
SIGNIFICANT = 5.0
"""Percent (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Hit rates of the baseline, and gains of the ideal TLBs in percent."""
    import pandas as pd

    cycles = material.numbers("cycles", PROGRAMS, VARIANTS)
    rate = {
        name: material.numbers(number, PROGRAMS, ["baseline"])["baseline"]
        for name, number in ((L1, "tlb_L1_hit_rate_mean"), (L2, L2_RATE))
    }
    return pd.DataFrame(rate).assign(
        **{variant: gain(cycles, variant) for variant in (IDEAL_L1, IDEAL_L2)}
    )


def draw(table: pd.DataFrame) -> Picture:
    """Hit rates, and gains."""
    faster = (table[[IDEAL_L1, IDEAL_L2]] / 100 + 1).assign(baseline=1.0)
    return panels(
        Bars(table[[L1, L2]], "hit rate"),
        Bars(faster, "speedup over the baseline", line="baseline", geomean=True, limit=4),
    )


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How many are poor, and what ideal TLBs bring on average."""
    first, second = float(table[IDEAL_L1].mean()), float(table[IDEAL_L2].mean())
    both = f"mean gains: {IDEAL_L1} {first:.1f} %, {IDEAL_L2} {second:.1f} %"
    return {
        "comp.char.low_hit": most((table[L1] < POOR) & (table[L2] < POOR)),
        "comp.char.hit_matters": Measured(holds=second >= SIGNIFICANT, text=f"{second:.1f} %"),
        "comp.char.ideal_l2_over_l1": Measured(holds=second > 0 and second >= 2 * first, text=both),
        "comp.char.ideal_l1_small": number(first),
    }


FIGURE = Figure(
    id="comp.char.tlbs",
    title="Characterisation: TLB hit rates, and ideal TLBs",
    about="Hit rates of the baseline; gains in percent of L1 TLBs without access latency, which "
    "may miss, and of an L2 TLB that always hits.",
    claims=(
        "comp.char.low_hit",
        "comp.char.hit_matters",
        "comp.char.ideal_l2_over_l1",
        "comp.char.ideal_l1_small",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=VARIANTS),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
