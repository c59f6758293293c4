"""VC Fig. 4: where the time that translation costs goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number, one, with_average
from gpusim.views.plots import PALETTE, new_figure, stacked_bars

from .common import (
    BASELINES,
    IDEAL,
    LARGE,
    RATES,
    SMALL,
    SMALL_UNLIMITED,
    UNLIMITED,
    WATCHED,
    cycles,
    sweep,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


WALKS, TURNS = "page walks", "serialisation"
PAIRS = {"512": (SMALL, SMALL_UNLIMITED), "16K": (LARGE, UNLIMITED)}
"""By entries of the IOMMU TLB: with one lookup a cycle, and with any number."""

LITTLE = 0.25
"""A benefit is small if it is less than this of what is lost (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Time beyond that of the ideal MMU, relative to it."""
    import pandas as pd

    designs = [IDEAL, *(variant for pair in PAIRS.values() for variant in pair)]
    times = cycles(material, designs)
    ideal = times[IDEAL]
    parts = {}
    for entries, (limited, unlimited) in PAIRS.items():
        parts[f"{entries} {WALKS}"] = times[unlimited] / ideal - 1
        parts[f"{entries} {TURNS}"] = (times[limited] - times[unlimited]) / ideal
    return with_average(pd.DataFrame(parts))


def _average(table: pd.DataFrame) -> pd.DataFrame:
    """A row a size, a column a part."""
    import pandas as pd

    mean = table.loc[AVERAGE]
    rows = {
        f"{entries} entries": {part: mean[f"{entries} {part}"] for part in (WALKS, TURNS)}
        for entries in PAIRS
    }
    return pd.DataFrame(rows).T


def draw(table: pd.DataFrame) -> Picture:
    """The averages; a part below 0 has no bar."""
    figure = new_figure("column", height=2.4)
    colours = dict(zip((WALKS, TURNS), PALETTE, strict=False))
    stacked_bars(
        _average(table).clip(lower=0),
        shares=False,
        colours=colours,
        ylabel="overhead over IDEAL MMU",
        ax=figure.subplots(),
    )
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Of the averages."""
    parts = _average(table)
    small, large = parts.sum(axis=1)
    saved = 1 - large / small
    turns = parts[TURNS].iloc[0] / small
    return {
        "vc.fig4.overhead": number(100 * small),
        "vc.fig4.large_tlb_little": one(saved, saved < LITTLE),
        "vc.fig4.serialisation_dominates": one(turns, turns > 1 / 2),
    }


FIGURE = Figure(
    id="vc.fig4",
    title="Fig. 4: what translation costs",
    about="Time beyond that of IDEAL MMU, relative to it: what is left with any number of lookups "
    "a cycle in the IOMMU TLB is that of page walks (and of the ways there), the rest is "
    "serialisation. Arithmetic means.",
    claims=(
        "vc.fig4.overhead",
        "vc.fig4.large_tlb_little",
        "vc.fig4.serialisation_dominates",
    ),
    sweeps=(WATCHED, RATES, BASELINES, sweep([SMALL_UNLIMITED])),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
