"""COMP's results: L2 TLB hit rates and performance with compression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, gain, mean_points, number
from gpusim.studies.sweep.spec import Sweep
from gpusim.views.plots import bar_groups, new_figure

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
    """Hit rates above, speedup below."""
    figure = new_figure("page", height=4.2)
    rates, times = figure.subplots(2)
    bar_groups(table[list(VARIANTS)], geomean=False, ylabel="L2 TLB hit rate", ax=rates)
    bar_groups(
        table[[GAIN]].rename(columns={GAIN: "compression"}) / 100 + 1,
        ylabel="speedup over the baseline", ax=times,
    )  # fmt: skip
    times.axhline(1, color="black", linewidth=0.8, linestyle=(0, (4, 2)))
    return figure


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
        "comp.abs.avg_gain", "comp.abs.irregular_gain", "comp.abs.max_gain",
        "comp.derived.regular_gain", "comp.abs.hit_rate_up",
    ),
    sweeps=(Sweep(models=MODEL, workloads=WORKLOADS, variants=VARIANTS),),
    table=table,
    draw=draw,
    measure=measure,
)  # fmt: skip

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
