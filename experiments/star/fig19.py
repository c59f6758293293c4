"""STAR Fig. 19: huge pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import AVERAGE, Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import together
from gpusim.studies.sweep.point import BASELINE

from .common import WORKLOADS, bars, gains, percent, sweep_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHOWN = {name: WORKLOADS[name] for name in ("W1", "W2", "W3", "W5")}
HUGE, STAR_HUGE = "huge pages", "STAR, huge pages"
DESIGNS = {
    "baseline": BASELINE,
    "STAR": "star",
    HUGE: "huge-pages",
    STAR_HUGE: "huge-pages+star",
    "static, huge pages": "huge-pages+static-ways",
}
OVER = "STAR / baseline, huge pages"


def table(material: Material) -> pd.DataFrame:
    """Performance relative to the baseline with small pages, a row a workload."""
    designs = together(DESIGNS)
    found = gains(material, SHOWN, designs, "baseline").drop(columns="baseline")
    huge = {name: designs[name] for name in (HUGE, STAR_HUGE)}
    return found.assign(**{OVER: gains(material, SHOWN, huge, HUGE)[STAR_HUGE]})


def draw(table: pd.DataFrame) -> Picture:
    """Designs side by side."""
    return bars(table.drop(columns=OVER), "performance,\nrelative to the baseline")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """STAR's gain with huge pages, and with small ones beside it."""
    small = percent(table["STAR"][AVERAGE])
    return {
        "star.fig19.large_pages": number(
            percent(table[OVER][AVERAGE]), text=f"with small pages {small:.1f} %"
        )
    }


FIGURE = Figure(
    id="star.fig19",
    title="Fig. 19: huge pages",
    about="Performance relative to the baseline with small pages, harmonic means of four "
    "workloads; an entry of 16 huge pages, the designs on top.",
    claims=("star.fig19.large_pages",),
    sweeps=(sweep_of(DESIGNS.values(), SHOWN, alone=()),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
