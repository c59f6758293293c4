"""MASK §7.3: sizes of the L1 TLBs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, with_average
from gpusim.studies.reproduce.pictures import lines

from .common import BASE, MASK, STUDIED, pair_sweep, speedups

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY, WAYS = "tlb.L1.entries", "tlb.L1.ways"
ENTRIES = [16, 64, 256]
DESIGNS = {"SharedTLB": BASE, "MASK": MASK}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; IPCs alone on SharedTLB with as many entries."""
    designs = {
        f"{name} {entries}": {"variant": variant, KEY: entries}
        for entries in ENTRIES
        for name, variant in DESIGNS.items()
    }
    found = speedups(material, STUDIED, designs)
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """A line a design."""
    import pandas as pd

    mean = table.T[AVERAGE]
    columns = {name: [mean[f"{name} {one}"] for one in ENTRIES] for name in DESIGNS}
    return lines(pd.DataFrame(columns, index=ENTRIES), "entries of an L1 TLB", "weighted speedup")


FIGURE = Figure(
    id="mask.sec73.l1_tlb",
    title="§7.3: L1 TLB sizes",
    about="Weighted speedups, one pair a category; fully associative. IPCs alone are those of "
    "SharedTLB with as many entries. The paper gives no number.",
    sweeps=(
        pair_sweep(
            DESIGNS.values(), STUDIED, axes={f"{KEY}, {WAYS}": [[one, one] for one in ENTRIES]}
        ),
    ),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
