"""STAR Fig. 20: ways dealt out to the instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import BASE, WORKLOADS, bars, gains, percent, shared, sweep_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = ("static", "STAR + static")
OVER = "STAR + static / static"
WORST = {"W6", "W8", "W10"}


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    found = gains(material, WORKLOADS, shared([BASE, *SHOWN]))[list(SHOWN)]
    return found.assign(**{OVER: gains(material, WORKLOADS, shared(SHOWN), SHOWN[0])[SHOWN[1]]})


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table[list(SHOWN)], "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    static = percent(table["static"])
    worst = static.drop(AVERAGE).nsmallest(len(WORST))
    return {
        "star.fig20.static": number(static[AVERAGE]),
        "star.fig20.static_worst": Measured(
            holds=set(worst.index) == WORST,
            text=", ".join(f"{name} {value:+.1f} %" for name, value in worst.items()),
        ),
        "star.fig20.star_on_static": number(percent(table[OVER][AVERAGE])),
    }


FIGURE = Figure(
    id="star.fig20",
    title="Fig. 20: static partitions",
    about="The L3 TLB's ways dealt out 4, 2 and 2, alone and with STAR in the ways of each. "
    "Performance relative to the baseline, harmonic means of the workloads.",
    claims=(
        "star.fig20.static",
        "star.fig20.static_worst",
        "star.fig20.star_on_static",
    ),
    sweeps=(sweep_over(SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
