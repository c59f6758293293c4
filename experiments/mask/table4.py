"""MASK Table 4: other GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, MASK, STUDIED, of_ideal, pair_sweep, speedups

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DESIGNS = {"PWCache": "pwcache", "SharedTLB": BASE, "MASK": MASK, "Ideal": "ideal"}
GPUS = {"Fermi": "fermi", "integrated": "integrated"}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's."""
    found = None
    for gpu, model in GPUS.items():
        designs = {name: {"model": model, "variant": variant} for name, variant in DESIGNS.items()}
        part = of_ideal(speedups(material, STUDIED, designs)).add_prefix(f"{gpu}, ")
        found = part if found is None else found.join(part)
    assert found is not None
    return with_average(found)


def draw(table: pd.DataFrame) -> Picture:
    """Pairs side by side."""
    return bars(table, "weighted speedup,\nrelative to Ideal")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = 100 * table.T[AVERAGE]
    return {
        f"mask.table4.{model}": number(
            *(mean[f"{gpu}, {name}"] for name in DESIGNS if name != "Ideal")
        )
        for gpu, model in GPUS.items()
    }


FIGURE = Figure(
    id="mask.table4",
    title="Table 4: other GPUs",
    about="Weighted speedups relative to Ideal's on the models `fermi` and `integrated`, one "
    "pair a category.",
    claims=("mask.table4.fermi", "mask.table4.integrated"),
    sweeps=tuple(pair_sweep(DESIGNS.values(), STUDIED, model=model) for model in GPUS.values()),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
