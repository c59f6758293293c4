"""STAR at twice the size: whether conclusions turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.sweep.point import BASELINE

from .common import (
    BASE,
    ENTRIES,
    STAR,
    WORKLOADS,
    bars,
    harmonic,
    normalised_performance,
    speedups,
    sweep_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure as Picture

SMALL = {name: WORKLOADS[name] for name in ("W1", "W3", "W5")}
LARGE = {f"{name}_2x": ENTRIES[f"{name}_2x"].name for name in SMALL}
QUARTER = "quarter"
"""Twice the machine of quick scale; laid on `eighth`, it replaces all that this changes."""

OVER = "STAR / baseline"
TWICE = ", twice the size"


def _of_size(
    material: Material, workloads: Mapping[str, str], designs: Mapping[str, str], alone: str
) -> pd.DataFrame:
    chosen = together(designs)
    found = harmonic(normalised_performance(material, workloads, chosen, alone))
    found[OVER] = harmonic(speedups(material, workloads, chosen))[STAR]
    return found.set_axis(list(SMALL))


def table(material: Material) -> pd.DataFrame:
    """Normalised performance, and STAR relative to the baseline, at both sizes."""
    small = _of_size(material, SMALL, {BASE: BASELINE, STAR: "star"}, BASELINE)
    large = _of_size(material, LARGE, {BASE: QUARTER, STAR: f"{QUARTER}+star"}, QUARTER)
    return small.join(large.add_suffix(TWICE)).rename_axis("workload")


def draw(table: pd.DataFrame) -> Picture:
    """Both sizes side by side."""
    return bars(table, "performance")


FIGURE = Figure(
    id="star.larger",
    title="Twice the size",
    about="Three workloads on a quarter of the machine instead of an eighth (variant `quarter`), "
    "with programs that are twice as large (`W1_2x`): time alone / time shared, and STAR relative "
    "to the baseline; harmonic means.",
    sweeps=(
        sweep_of([BASELINE, "star"], SMALL),
        sweep_of([QUARTER, f"{QUARTER}+star"], LARGE, alone=[QUARTER]),
    ),
    table=table,
    draw=draw,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
