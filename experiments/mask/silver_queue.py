"""MASK §7.2: applications that the silver queue helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.mixes import of_applications
from gpusim.studies.reproduce.pictures import bars
from gpusim.studies.sweep.point import SHARED

from .common import PAIRS, PARTS, pair_sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

DRAM = PARTS["MASK-DRAM"]
SHOWN = {name: PAIRS[name] for name in ("SCAN_SRAD", "SCAN_CONS")}
SILVER, NORMAL, PATIENCE = (f"dram.scheduler.{name}" for name in ("silver", "normal", "patience"))
CHOICES = {"with": (64, 192, 0), "with, patience": (64, 192, 1000), "without": (1, 255, 0)}
HELPED = ["SCAN_SRAD.SRAD", "SCAN_CONS.SCAN", "SCAN_CONS.CONS"]


def table(material: Material) -> pd.DataFrame:
    """IPCs of each application."""
    designs = {
        name: {"variant": DRAM, "role": SHARED, SILVER: silver, PATIENCE: patience}
        for name, (silver, _, patience) in CHOICES.items()
    }
    return of_applications(material, "ipc", SHOWN, designs)


def draw(table: pd.DataFrame) -> Picture:
    """Applications side by side."""
    return bars(table, "IPC")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Of the three applications that the paper names."""
    gained = 100 * (table["with"] / table["without"] - 1)[HELPED]
    return {"mask.sec72.silver_queue": number(*gained)}


FIGURE = Figure(
    id="mask.sec72.silver_queue",
    title="§7.2: silver queue",
    about=(
        "IPCs with MASK-DRAM; with no read staying in the normal queue for more than 1,000 cycles "
        "(`patience`); and with a silver queue of one entry, the others being normal."
    ),
    claims=("mask.sec72.silver_queue",),
    sweeps=(
        pair_sweep(
            [DRAM],
            SHOWN,
            alone=(),
            axes={f"{SILVER}, {NORMAL}, {PATIENCE}": list(map(list, CHOICES.values()))},
        ),
    ),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
