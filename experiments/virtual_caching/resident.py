"""VC §3.1 and §4.3: how many pages have lines in the L2 cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import PROGRAMS, SMALL, WATCHED, recorded
from .recorded import MOST_PAGES, PAGES, resident_pages

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


MANY = 12_000
FEW = 3
"""Programs that are few (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Pages of 4 KB: mean over time, and the most."""
    return recorded(material, resident_pages, PROGRAMS, SMALL)


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "pages in the L2 cache")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the programs, and how many have many."""
    most = table[MOST_PAGES]
    return {
        "vc.sec3.resident_pages": number(table[PAGES].mean()),
        "vc.sec4.resident_pages_max": Measured(
            holds=bool((most > MANY).sum() <= FEW),
            text=f"at most {most.max():.0f} ({most.idxmax()})",
        ),
    }


FIGURE = Figure(
    id="vc.sec3.resident",
    title="§3.1: pages in the L2 cache",
    about="Distinct pages of 4 KB with lines in the L2 cache of the baseline; its 2 MB are 16,384 "
    "lines.",
    claims=("vc.sec3.resident_pages", "vc.sec4.resident_pages_max"),
    sweeps=(WATCHED,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.0f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
