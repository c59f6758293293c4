"""MASK Figs. 12 to 14: weighted speedups of each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured
from gpusim.views.plots import bar_groups, new_figure

from .common import BASELINES, CATEGORIES, DESIGNS, MAIN, PAIRS, by_category, speedups, variants

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = {name: variant for name, variant in DESIGNS.items() if name != "Ideal"}


def table(material: Material) -> pd.DataFrame:
    """A row a pair, in the order of the categories."""
    return speedups(material, PAIRS, variants(SHOWN))


def draw(table: pd.DataFrame) -> Picture:
    """A panel a category."""
    figure = new_figure("page", height=6.6)
    panels = figure.subplots(len(CATEGORIES))
    for axes, (category, pairs) in zip(panels, CATEGORIES.items(), strict=True):
        bar_groups(
            table.loc[list(pairs)], geomean=False, ylabel=f"weighted speedup,\n{category}", ax=axes
        )
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Means of each category."""
    means = by_category(table).loc[list(CATEGORIES)]
    best = means[list(BASELINES)].max(axis=1)
    text = ", ".join(
        f"{category} {means.loc[category, 'MASK']:.2f} and {best[category]:.2f}"
        for category in means.index
    )
    return {
        "mask.fig12_14.beats_all_categories": Measured(
            holds=bool((means["MASK"] > best).all()), text=f"MASK and the best baseline: {text}"
        )
    }


FIGURE = Figure(
    id="mask.fig12_14",
    title="Figs. 12 to 14: weighted speedups of each pair",
    about="IPCs alone are those of SharedTLB on as many SMs.",
    claims=("mask.fig12_14.beats_all_categories",),
    sweeps=(MAIN,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
