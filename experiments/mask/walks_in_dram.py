"""What if page-table reads found nothing in the L2 cache, as the paper's last level?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, DESIGNS, STUDIED, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

KEY, SENT_BY = "walk.memory", "walk.sent_by"
SHOWN = {name: DESIGNS[name] for name in ("SharedTLB", "MASK-TLB", "MASK-DRAM", "MASK")}
IDEAL = "Ideal"


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups, IPCs alone on SharedTLB as it is."""
    designs: dict[str, dict[str, object]] = {
        name: {"variant": variant, KEY: "dram"} for name, variant in SHOWN.items()
    }
    designs[IDEAL] = {"variant": DESIGNS[IDEAL]}
    found = material.compared("weighted_speedup", STUDIED, designs, {"variant": BASE, KEY: None})
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "weighted speedup")


FIGURE = Figure(
    id="mask.sec43.walks_in_dram",
    title="§4.3, the other way round: page-table reads that never hit in the L2 cache",
    about="The paper's reads of the last level hit in 1 % of the cases. Here all levels are read "
    'from DRAM (`walk.memory = "dram"`) by the walkers, one pair a category: weighted speedups, '
    "IPCs alone on SharedTLB as it is. No claim; it tells how far the gap to Ideal hangs on these "
    "hits.",
    sweeps=(
        pair_sweep([BASE, DESIGNS[IDEAL]], STUDIED),
        pair_sweep(SHOWN.values(), STUDIED, alone=(), axes={KEY: ["dram"], SENT_BY: ["walkers"]}),
    ),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
