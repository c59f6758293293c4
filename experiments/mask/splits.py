"""MASK §6: splits of the SMs, in place of the exhaustive search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, MASK, SMS, STUDIED, pair_sweep, speedups

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

STEP = 5
SPLITS = [f"{first}+{SMS - first}" for first in range(STEP, SMS, STEP)]
HALVES = f"{SMS // 2}+{SMS // 2}"
DESIGNS = {"SharedTLB": BASE, "MASK": MASK}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups of all splits; IPCs alone on SharedTLB with as many SMs."""
    designs = {
        f"{name} {split}": {"variant": variant, "sms": split}
        for name, variant in DESIGNS.items()
        for split in SPLITS
    }
    return speedups(material, STUDIED, designs)


def draw(table: pd.DataFrame) -> Picture:
    """Halves and the best split."""
    import pandas as pd

    columns = {}
    for name in DESIGNS:
        of_design = table[[f"{name} {split}" for split in SPLITS]]
        columns[f"{name}, halves"] = of_design[f"{name} {HALVES}"]
        columns[f"{name}, best"] = of_design.max(axis=1)
    return bars(pd.DataFrame(columns), "weighted speedup")


FIGURE = Figure(
    id="mask.sec6.splits",
    title="§6: splits of the SMs",
    about="The paper's applications have the SMs that an exhaustive search finds best; ours "
    "have half of them each. Here is what a search in steps of five SMs finds, one pair "
    "a category: weighted speedups, IPCs alone on SharedTLB with as many SMs.",
    sweeps=(evolve(pair_sweep(DESIGNS.values(), STUDIED), split_step=STEP),),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
