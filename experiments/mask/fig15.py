"""MASK Fig. 15: unfairness, the largest slowdown of a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import (
    BASE,
    BASELINES,
    MAIN,
    MASK,
    OWN,
    PAIRS,
    WHOLE,
    by_category,
    variants,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = {**BASELINES, "MASK": MASK}
OWN_ALONE = " (own alone)"


def table(material: Material) -> pd.DataFrame:
    """Largest slowdowns, means by category; IPCs alone on SharedTLB, and on the design itself."""
    common = material.compared("unfairness", PAIRS, variants(SHOWN), {"variant": BASE})
    own = material.compared("unfairness", PAIRS, variants(WHOLE))
    return by_category(common.join(own.add_suffix(OWN_ALONE)))


def draw(table: pd.DataFrame) -> Picture:
    """IPCs alone on SharedTLB."""
    return bars(table[list(SHOWN)], "unfairness")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    own = mean[[name + OWN_ALONE for name in WHOLE]]
    told = ", ".join(f"{name} {mean[name]:.2f}" for name in SHOWN)
    fairest = mean["SharedTLB"] < mean[["Static", "PWCache"]].min()
    return {
        "mask.fig15.unfairness": number(
            100 * (1 - mean["MASK"] / mean["SharedTLB"]),
            text=f"IPCs alone of each design: "
            f"{100 * (1 - own['MASK' + OWN_ALONE] / own['SharedTLB' + OWN_ALONE]):.1f} %",
        ),
        "mask.fig15.baseline_fairness": Measured(
            holds=bool(fairest and mean["MASK"] < mean["Static"]), text=told
        ),
    }


FIGURE = Figure(
    id="mask.fig15",
    title="Fig. 15: unfairness",
    about="The larger of the two slowdowns, IPC alone / IPC shared. IPCs alone are those of "
    "SharedTLB; under *own alone* those of the design itself.",
    claims=("mask.fig15.unfairness", "mask.fig15.baseline_fairness"),
    sweeps=(MAIN, OWN),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
