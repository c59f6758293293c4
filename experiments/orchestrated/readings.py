"""ORCH §IV-B: the sharing rules as the paper may mean them, side by side."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material
from gpusim.studies.sweep.spec import Sweep

from .common import MODEL, PROPOSAL, STUDIED, draw_readings, readings_table

if TYPE_CHECKING:
    import pandas as pd

RULES = ("tlb.L1.array.empty_rule", "tlb.L1.array.shared_alloc")
READINGS = tuple(product(("stale", "invalid"), ("union", "spill")))


def table(material: Material) -> pd.DataFrame:
    """Times relative to the baseline, and hit rates, of each reading."""
    return readings_table(
        material,
        {", ".join(reading): dict(zip(RULES, reading, strict=True)) for reading in READINGS},
    )


FIGURE = Figure(
    id="orch.secIV.readings",
    title="§IV-B: readings of the sharing rules",
    about="An entry is evicted to the adjacent set if that has an *empty* slot, and then the "
    "blocks share their sets. The paper does not say whether a slot is empty only while it "
    "is *invalid*, or also once the block that filled it has ended (*stale*); nor whether a "
    "block that shares allocates only in its own sets, with evicted entries *spilling*, or "
    "in the *union* of both. `partitioning-sharing` is stale and union: with *invalid*, "
    "sharing can begin only while a TLB is cold.",
    sweeps=(
        Sweep(models=MODEL, workloads=tuple(STUDIED.values())),
        Sweep(
            models=MODEL,
            workloads=tuple(STUDIED.values()),
            variants=[PROPOSAL],
            set={", ".join(RULES): [list(reading) for reading in READINGS]},
        ),
    ),
    table=table,
    draw=draw_readings,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
