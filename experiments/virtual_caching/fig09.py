"""VC Fig. 9: performance relative to an ideal MMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, most, number, one
from gpusim.studies.reproduce.pictures import bars

from .common import (
    AVERAGE_ALL,
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
    sweep,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


DESIGNS = {"Baseline 512": SMALL, "Baseline 16K": LARGE, "VC W/O OPT": VC, "VC With OPT": OPT}
FEW_HELPED = 0.25
"""A loss is not removed if less than this of it goes (our choice)."""

REACHED = 0.95
"""Ideal performance is reached from here on (our choice)."""

HARM = 0.99
"""Below this, a program is slower (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Relative performance of each program, and averages of the high group and of all."""
    times = cycles(material, [IDEAL, *DESIGNS.values()])
    found = (1 / times[list(DESIGNS.values())].div(times[IDEAL], axis=0)).set_axis(
        list(DESIGNS), axis=1
    )
    found.loc[AVERAGE] = found.loc[HIGH].mean()
    found.loc[AVERAGE_ALL] = found.loc[list(PROGRAMS)].mean()
    return found


def draw(table: pd.DataFrame) -> Picture:
    """The high group and the averages, as in the paper."""
    return bars(table.drop(LOW), "relative performance")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
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


FIGURE = Figure(
    id="vc.fig9",
    title="Fig. 9: performance relative to an ideal MMU",
    about="Time of IDEAL MMU relative to a design's. The averages are arithmetic means over the "
    "ten programs of high translation bandwidth, and over all fifteen; the picture leaves "
    "out those of low bandwidth.",
    claims=(
        "vc.fig9.base512_high",
        "vc.fig9.base16k_no_help",
        "vc.fig9.avg_all",
        "vc.fig9.vc_near_ideal",
        "vc.fig9.noopt_most",
        "vc.fig9.fw_bfs_walks",
        "vc.fig9.low_bw",
    ),
    sweeps=(WATCHED, RATES, BASELINES, sweep([VC])),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
