"""STAR Fig. 10: performance relative to the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number

from .common import (
    BASE,
    STAR,
    STAR_SWEEP,
    WORKLOADS,
    bars,
    percent,
    shared,
    speedups,
    with_workloads,
    workload_rows,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

TIERS = (("W1", "W2"), ("W3", "W4", "W5", "W6"), ("W7", "W8", "W9", "W10", "W11"))
"""Workloads with two or three applications of class H, with one, with none."""

HARM = -1.0
"""Percent; less is no harm (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Performance with STAR, relative to the baseline: applications, then workloads."""
    return with_workloads(speedups(material, WORKLOADS, shared([BASE, STAR]))[[STAR]])


def draw(table: pd.DataFrame) -> Picture:
    """The workloads."""
    return bars(workload_rows(table), "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Gains of some, and of all on average."""
    gain = percent(table[STAR])
    tiers = [gain[list(tier)].mean() for tier in TIERS]
    apps = gain[gain.index.str.contains(".", regex=False)]
    slower = apps[apps < HARM]
    told = ", ".join(f"{name} {value:+.1f} %" for name, value in slower.items())
    return {
        "star.fig10.avg": number(gain[AVERAGE]),
        "star.fig10.max": number(gain["W2"], gain["W7"]),
        "star.fig10.class_order": Measured(
            holds=tiers == sorted(tiers, reverse=True),
            text=", ".join(f"{value:.1f} %" for value in tiers),
        ),
        "star.fig10.fir_w10": number(gain["W10.FIR"]),
        "star.fig10.mt_s": number(gain["W6.MT_s"], gain["W4.MT_s"]),
        "star.fig10.no_harm": Measured(holds=slower.empty, text=told or "none is slower"),
    }


FIGURE = Figure(
    id="star.fig10",
    title="Fig. 10: STAR",
    about="Performance with STAR relative to the same workload on the baseline: of each "
    "application, and harmonic means of the workloads.",
    claims=(
        "star.fig10.avg",
        "star.fig10.max",
        "star.fig10.class_order",
        "star.fig10.fir_w10",
        "star.fig10.mt_s",
        "star.fig10.no_harm",
    ),
    sweeps=(STAR_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
