"""ORCH §IV-B: the sharing rules as the paper may mean them, side by side."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from gpusim.reproduce import Figure, Material, normalised
from gpusim.sweep.spec import Sweep

from .common import MODEL, PROGRAMS, PROPOSAL, WORKLOADS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

RULES = ("tlb.L1.array.empty_rule", "tlb.L1.array.shared_alloc")
READINGS = tuple(product(("stale", "invalid"), ("union", "spill")))
RATE = " hit rate"


def table(material: Material) -> pd.DataFrame:
    """Times relative to the baseline, and hit rates, of each reading."""
    designs: dict[str, dict[str, object]] = {"baseline": {"variant": "baseline"}}
    for reading in READINGS:
        settings = dict(zip(RULES, reading, strict=True))
        designs[", ".join(reading)] = {"variant": PROPOSAL, **settings}
    times = normalised(material.numbers("cycles", PROGRAMS, designs))
    rates = material.numbers("tlb_L1_hit_rate_mean", PROGRAMS, designs)
    return times.join(rates.add_suffix(RATE))


def draw(table: pd.DataFrame) -> Picture:
    """The times."""
    times = table[[name for name in table.columns if not name.endswith(RATE)]]
    return bars(times, "execution time,\nrelative to the baseline")


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
        Sweep(models=MODEL, workloads=WORKLOADS),
        Sweep(
            models=MODEL, workloads=WORKLOADS, variants=[PROPOSAL],
            set={", ".join(RULES): [list(reading) for reading in READINGS]},
        ),
    ),
    table=table,
    draw=draw,
)  # fmt: skip

if __name__ == "__main__":
    from gpusim.cli.reproduce import script

    script(FIGURE)
