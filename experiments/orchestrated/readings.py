"""What ORCH's sharing rules, its search of several sets and its fills may mean (§IV-B)."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Bars, Figure, Material, normalised
from gpusim.studies.sweep.spec import Sweep

from .common import PROGRAMS, PROPOSAL, sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from gpusim.studies.reproduce.tables import Table

STUDIED = {name: PROGRAMS[name] for name in ("mis", "atax", "gemm")}
"""One of each kind: readings need many runs."""

study = partial(sweep, workloads=STUDIED.values())
"""These programs on the baseline, or on other designs, with some settings."""

RATE = " hit rate"
"""In the names of columns."""

RULES = ("tlb.L1.array.empty_rule", "tlb.L1.array.shared_alloc")
OF_RULES = {
    ", ".join(reading): reading for reading in product(("stale", "invalid"), ("union", "spill"))
}

SEARCH = ("tlb.L1.array.hold_port", "tlb.L1.array.parallel_compare", "tlb.L1.array.merged_fill")
OF_SEARCH = {
    "time only": ("false", "false", "each"),
    "port held": ("true", "false", "each"),
    "all at once": ("false", "true", "each"),
    "first fills": ("false", "false", "first"),
}


def times_and_rates(keys: Sequence[str], readings: Mapping[str, Sequence[str]]) -> Table:
    """Times relative to the baseline, and hit rates, of the proposal by each reading."""

    def table(material: Material) -> pd.DataFrame:
        designs: dict[str, Mapping[str, object]] = {"baseline": {"variant": "baseline"}}
        for name, values in readings.items():
            designs[name] = {"variant": PROPOSAL, **dict(zip(keys, values, strict=True))}
        times = normalised(material.numbers("cycles", STUDIED, designs))
        rates = material.numbers("tlb_L1_hit_rate_mean", STUDIED, designs)
        return times.join(rates.add_suffix(RATE))

    return table


def sweeps_of(keys: Sequence[str], readings: Mapping[str, Sequence[str]]) -> tuple[Sweep, ...]:
    """The baseline, and the proposal by each reading."""
    axes = {", ".join(keys): [list(values) for values in readings.values()]}
    return study(), study(variants=[PROPOSAL], set=axes)


TIMES = Bars(
    "execution time,\nrelative to the baseline",
    lambda table: table[[name for name in table.columns if not name.endswith(RATE)]],
    line="baseline",
    geomean=True,
)

SHARING = Figure(
    id="orch.secIV.readings",
    title="§IV-B: readings of the sharing rules",
    about="An entry is evicted to the adjacent set if that has an *empty* slot, and then the "
    "blocks share their sets. The paper does not say whether a slot is empty only while it "
    "is *invalid*, or also once the block that filled it has ended (*stale*); nor whether a "
    "block that shares allocates only in its own sets, with evicted entries *spilling*, or "
    "in the *union* of both. `partitioning-sharing` is stale and union: with *invalid*, "
    "sharing can begin only while a TLB is cold.",
    sweeps=sweeps_of(RULES, OF_RULES),
    table=times_and_rates(RULES, OF_RULES),
    draw=TIMES,
    after="orch.secIV.residency",
)

SEARCHING = Figure(
    id="orch.secIV.search",
    title="§IV-B: readings of the search and of fills",
    about="A block that owns several sets has to search them, which takes as many times as long. "
    "In `partitioning-sharing` it takes *time only*, as the text has it; or the *port* is *held* "
    "until the search ends; *all at once* has the comparators that the paper does without. A "
    "translation that several blocks wait for is filled into the sets of each of them, or only "
    "into those of the *first*. Where blocks own one set each, as with 16 blocks an SM, searches "
    "are the same.",
    sweeps=sweeps_of(SEARCH, OF_SEARCH),
    table=times_and_rates(SEARCH, OF_SEARCH),
    draw=TIMES,
    after="orch.secIV.readings",
)
