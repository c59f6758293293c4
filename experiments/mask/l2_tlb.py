"""MASK §7.3: sizes of the shared L2 TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, with_average
from gpusim.studies.reproduce.pictures import lines

from .common import BASE, MASK, STUDIED, pair_sweep, speedups

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY = "tlb.L2.entries"
ENTRIES = [64, 512, 4096, 8192]
DESIGNS = {"SharedTLB": BASE, "MASK": MASK}
TIE = 0.02
"""Weighted speedups that are equal (our choice)."""


def _column(name: str, entries: int) -> str:
    return f"{name} {entries}"


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB with as many entries."""
    designs = {
        _column(name, entries): {"variant": variant, KEY: entries}
        for entries in ENTRIES
        for name, variant in DESIGNS.items()
    }
    found = speedups(material, STUDIED, designs)
    return with_average(found)


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """By entries and design."""
    import pandas as pd

    mean = table.T[AVERAGE]
    columns = {name: [mean[_column(name, one)] for one in ENTRIES] for name in DESIGNS}
    return pd.DataFrame(columns, index=ENTRIES)


def draw(table: pd.DataFrame) -> Picture:
    """A line a design."""
    return lines(_means(table), "entries of the L2 TLB", "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Where MASK is faster, and by how much."""
    means = _means(table)
    more = means["MASK"] / means["SharedTLB"] - 1
    last = ENTRIES[-1]
    return {
        "mask.sec73.l2tlb_sweep": Measured(
            holds=bool((more.drop(last) > 0).all() and abs(more[last]) < TIE),
            text=", ".join(f"{entries}: {one:+.1%}" for entries, one in more.items()),
        )
    }


FIGURE = Figure(
    id="mask.sec73.l2_tlb",
    title="§7.3: L2 TLB sizes",
    about="Weighted speedups, one pair a category; IPCs alone are those of SharedTLB with as "
    "many entries. With fewer than 256 entries all ways stay.",
    claims=("mask.sec73.l2tlb_sweep",),
    sweeps=(pair_sweep(DESIGNS.values(), STUDIED, axes={KEY: ENTRIES}),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
