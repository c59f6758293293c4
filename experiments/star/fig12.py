"""STAR Fig. 12: the layouts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import BASE, STAR, WORKLOADS, bars, gains, percent, shared, sweep_over

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = ("sequential only", "stride only", STAR)


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline, a row a workload."""
    return gains(material, WORKLOADS, shared([BASE, *SHOWN]))[list(SHOWN)]


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table, "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains over the baseline."""
    gain = percent(table)
    sequential, stride = gain[SHOWN[0]], gain[SHOWN[1]]
    told = ", ".join(
        f"{name}: {sequential[name]:.1f} and {stride[name]:.1f} %" for name in ("W1", "W10")
    )
    return {
        "star.fig12.layouts": number(*gain.T[AVERAGE][list(SHOWN)]),
        "star.fig12.pattern_preference": Measured(
            holds=bool(stride["W1"] > sequential["W1"] and sequential["W10"] > stride["W10"]),
            text=f"sequential and stride, {told}",
        ),
    }


FIGURE = Figure(
    id="star.fig12",
    title="Fig. 12: sequential and stride layouts",
    about="Performance relative to the baseline, harmonic means of the workloads.",
    claims=(
        "star.fig12.layouts",
        "star.fig12.pattern_preference",
    ),
    sweeps=(sweep_over(SHOWN),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
