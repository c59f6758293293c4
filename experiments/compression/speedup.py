"""COMP's results: L2 TLB hit rates and performance with compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, gain, mean_points, number
from gpusim.studies.reproduce.pictures import Bars, panels
from gpusim.studies.sweep.spec import Sweep

from .common import IRREGULAR, L2_RATE, MODEL, PROGRAMS, REGULAR, WORKLOADS, rates_apart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

VARIANTS = ("baseline", "compression")
GAIN = "gain in %"


def table(material: Material) -> pd.DataFrame:
    """Hit rates, and the gain in percent."""
    rates = material.numbers(L2_RATE, PROGRAMS, VARIANTS)
    cycles = material.numbers("cycles", PROGRAMS, VARIANTS)
    apart = rates_apart(material, list(VARIANTS))
    return rates.join(apart).assign(**{GAIN: gain(cycles, "compression")})


def draw(table: pd.DataFrame) -> Picture:
    """Hit rates, and speedup."""
    faster = (table[[GAIN]] / 100 + 1).set_axis(["compression"], axis=1).assign(baseline=1.0)
    return panels(
        Bars(table[list(VARIANTS)], "L2 TLB hit rate"),
        Bars(faster, "speedup over the baseline", line="baseline", geomean=True),
    )


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic means over the programs."""
    gains = table[GAIN]
    return {
        "comp.abs.avg_gain": number(gains.mean()),
        "comp.abs.irregular_gain": number(gains[IRREGULAR].mean()),
        "comp.abs.max_gain": number(gains.max(), text=str(gains.idxmax())),
        "comp.derived.regular_gain": number(gains[REGULAR].mean()),
        "comp.abs.hit_rate_up": mean_points(table, "compression", "baseline", least=5),
    }


FIGURE = Figure(
    id="comp.abs",
    title="Hit rates and speedup with compression",
    about="An L2 TLB of which half of the ways are compressed, beside a plain one of as many "
    "ways. A lookup that merges with a walk under way is a miss, or left out.",
    claims=(
        "comp.abs.avg_gain",
        "comp.abs.irregular_gain",
        "comp.abs.max_gain",
        "comp.derived.regular_gain",
        "comp.abs.hit_rate_up",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=VARIANTS),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
