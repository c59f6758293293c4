"""ORCH §IV-B: what the search of several sets, and a fill for several blocks, may mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.sweep.spec import Sweep

from .common import MODEL, PROPOSAL, STUDIED, draw_readings, readings_table

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("tlb.L1.array.hold_port", "tlb.L1.array.parallel_compare", "tlb.L1.array.merged_fill")
READINGS = {
    "port held": ("true", "false", "each"),
    "pipelined": ("false", "false", "each"),
    "all at once": ("true", "true", "each"),
    "first fills": ("true", "false", "first"),
}


def table(material: Material) -> pd.DataFrame:
    """Times relative to the baseline, and hit rates, of each reading."""
    return readings_table(
        material, {name: dict(zip(KEYS, values, strict=True)) for name, values in READINGS.items()}
    )


FIGURE = Figure(
    id="orch.secIV.search",
    title="§IV-B: readings of the search and of fills",
    about="A block that owns several sets has to search them, which takes as many times as long. "
    "In `partitioning-sharing` the *port* is *held* until the search ends; *pipelined* counts its "
    "latency only; *all at once* has the comparators that the paper does without. A translation "
    "that several blocks wait for is filled into the sets of each of them, or only into those of "
    "the *first*. Where blocks own one set each, as with 16 blocks an SM, searches are the same.",
    sweeps=(
        Sweep(models=MODEL, workloads=tuple(STUDIED.values())),
        Sweep(
            models=MODEL,
            workloads=tuple(STUDIED.values()),
            variants=[PROPOSAL],
            set={", ".join(KEYS): [list(values) for values in READINGS.values()]},
        ),
    ),
    table=table,
    draw=draw_readings,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
