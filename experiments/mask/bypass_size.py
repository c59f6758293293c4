"""MASK §7.2, note 9: entries of the TLB bypass cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, one
from gpusim.studies.reproduce.pictures import lines

from .common import BASE, PARTS, STUDIED, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "tlb.L2.fill.bypass_entries"
ENTRIES = [16, 32, 64, 128]
TOKENS = PARTS["MASK-TLB"]
NO_MORE = 0.01
"""A gain that is none (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB."""
    designs = {f"{entries} entries": {"variant": TOKENS, KEY: entries} for entries in ENTRIES}
    return material.compared("weighted_speedup", STUDIED, designs, {"variant": BASE, KEY: None})


def draw(table: pd.DataFrame) -> Picture:
    """A line a pair."""
    return lines(table.T.set_axis(ENTRIES), "entries of the bypass cache", "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The larger ones beside 32 entries."""
    means = table.mean()
    more = means[["64 entries", "128 entries"]].max() / means["32 entries"] - 1
    return {"mask.sec72.bypass_saturates": one(more, more < NO_MORE)}


FIGURE = Figure(
    id="mask.sec72.bypass_size",
    title="§7.2: size of the TLB bypass cache",
    about="Weighted speedups of MASK-TLB, one pair a category.",
    claims=("mask.sec72.bypass_saturates",),
    sweeps=(
        pair_sweep([BASE], STUDIED),
        pair_sweep([TOKENS], STUDIED, alone=(), axes={KEY: ENTRIES}),
    ),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
