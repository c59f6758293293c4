"""MASK Table 3: one to five applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.reproduce.pictures import bars

from .common import BASE, MASK, of_ideal, pair_sweep, speedups, variants

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DESIGNS = {"SharedTLB": BASE, "MASK": MASK, "Ideal": "ideal"}
MIXES = {str(count): f"mask/APPS{count}" for count in range(1, 6)}
SHARED_GPU = {name: workload for name, workload in MIXES.items() if name != "1"}


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups relative to Ideal's; of one application, its IPC."""
    import pandas as pd

    single = material.numbers("ipc", {"1": MIXES["1"]}, together(DESIGNS))
    several = speedups(material, SHARED_GPU, variants(DESIGNS))
    return of_ideal(pd.concat([single, several])).rename_axis("applications")


def draw(table: pd.DataFrame) -> Picture:
    """One to five side by side."""
    return bars(table, "performance,\nrelative to Ideal")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """All five, and where MASK gains more."""
    ratio = table["MASK"] / table["SharedTLB"]
    few, many = ratio[["1", "2"]].mean(), ratio[["3", "4", "5"]].mean()
    return {
        "mask.table3.shared_scaling": number(*100 * table["SharedTLB"]),
        "mask.table3.mask_scaling": number(*100 * table["MASK"]),
        "mask.table3.gain_grows": Measured(
            holds=bool(many > few),
            text=f"{few:.2f} with one and two, {many:.2f} with three to five",
        ),
    }


FIGURE = Figure(
    id="mask.table3",
    title="Table 3: one to five applications",
    about="Performance relative to Ideal: weighted speedups, of one application its IPC. The "
    "SMs are split into equal parts. CONS, then also RED, HISTO, SRAD and GUP (our "
    "choice: the paper does not name them).",
    claims=(
        "mask.table3.shared_scaling",
        "mask.table3.mask_scaling",
        "mask.table3.gain_grows",
    ),
    sweeps=(pair_sweep(DESIGNS.values(), MIXES),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
