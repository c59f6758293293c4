"""MASK Fig. 11: weighted speedups of all designs by category."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import (
    CATEGORIES,
    DESIGNS,
    MAIN,
    OWN,
    PAIRS,
    PARTS,
    WHOLE,
    by_category,
    gain,
    speedups,
    variants,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

GAIN, OF_IDEAL, OWN_ALONE = " gain, %", " / Ideal", " (own alone)"


def table(material: Material) -> pd.DataFrame:
    """Weighted speedups; gains over SharedTLB; parts of Ideal; all are means of the pairs' own."""
    designs = variants(DESIGNS)
    all_pairs = speedups(material, PAIRS, designs)
    own = material.compared("weighted_speedup", PAIRS, variants(WHOLE))
    gains = {f"{name}{GAIN}": gain(all_pairs, name) for name in (*PARTS, "MASK")}
    ideal = {
        f"{name}{OF_IDEAL}": all_pairs[name] / all_pairs["Ideal"] for name in ("SharedTLB", "MASK")
    }
    return by_category(all_pairs.assign(**gains, **ideal).join(own.add_suffix(OWN_ALONE)))


def draw(table: pd.DataFrame) -> Picture:
    """The weighted speedups, IPCs alone on SharedTLB."""
    return bars(table[list(DESIGNS)], "weighted speedup")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means over the pairs."""
    mean = table.T[AVERAGE]
    parts = mean[list(PARTS)]
    others = mean[["PWCache", "Static"]]
    return {
        "mask.fig11.mask_vs_sharedtlb": number(mean["MASK" + GAIN]),
        "mask.fig11.by_hmr": number(*table.loc[list(CATEGORIES), "MASK" + GAIN]),
        "mask.fig11.gap_to_ideal": number(100 * (1 - mean["MASK" + OF_IDEAL])),
        "mask.fig11.mask_cache": number(mean["MASK-Cache" + GAIN]),
        "mask.fig11.mask_dram": number(mean["MASK-DRAM" + GAIN]),
        "mask.fig11.components_order": Measured(
            holds=bool(mean["MASK"] > parts.max() and parts.min() > mean["SharedTLB"]),
            text=_listed(mean[["SharedTLB", *PARTS, "MASK"]]),
        ),
        "mask.fig11.best_baseline": Measured(
            holds=bool(mean["SharedTLB"] > others.max()),
            text=_listed(mean[["SharedTLB", *others.index]]),
        ),
    }


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


FIGURE = Figure(
    id="mask.fig11",
    title="Fig. 11: weighted speedups by category",
    about="IPCs alone are those of SharedTLB on as many SMs; under *own alone* those of each "
    "design, so that two applications cannot reach more than 2 but by helping each other.",
    claims=(
        "mask.fig11.mask_vs_sharedtlb",
        "mask.fig11.by_hmr",
        "mask.fig11.gap_to_ideal",
        "mask.fig11.mask_cache",
        "mask.fig11.mask_dram",
        "mask.fig11.components_order",
        "mask.fig11.best_baseline",
    ),
    sweeps=(MAIN, OWN),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
