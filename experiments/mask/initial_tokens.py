"""MASK §6: how many tokens there are at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, one
from gpusim.studies.reproduce.pictures import lines

from .common import BASE, MASK, STUDIED, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "tlb.L2.fill.initial"
PARTS = [0.2, 0.4, 0.6, 0.8, 1.0]
SMALL = 0.01


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB."""
    designs = {f"{part:.0%}": {"variant": MASK, KEY: part} for part in PARTS}
    return material.compared("weighted_speedup", STUDIED, designs, {"variant": BASE, KEY: None})


def draw(table: pd.DataFrame) -> Picture:
    """A line a pair."""
    return lines(table.T.set_axis(PARTS), "InitialTokens, part of the warps", "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """From the worst to the best."""
    means = table.mean()
    spread = means.max() / means.min() - 1
    return {"mask.sec6.initial_tokens": one(spread, spread < SMALL)}


FIGURE = Figure(
    id="mask.sec6",
    title="§6: InitialTokens",
    about="Weighted speedups of MASK, one pair a category, by the part of an application's "
    "warps that have tokens after the first epoch.",
    claims=("mask.sec6.initial_tokens",),
    sweeps=(
        pair_sweep([BASE], STUDIED),
        pair_sweep([MASK], STUDIED, alone=(), axes={KEY: PARTS}),
    ),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
