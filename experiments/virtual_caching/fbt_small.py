"""VC §4.2 and §4.3: small forward–backward tables, and what L1 caches are spared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import OPT, some, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


STUDIED = some(["mis", "pagerank", "lud", "nw"])
"""Our choice: two graphs, a matrix, and the program that touches most pages."""

KEY = "fbt.entries"
WHOLE = 16384
ENTRIES = [4096, 1024, 512, 256]
"""Our choice: the programs were shortened, so only tables below the paper's fill."""

EVICTIONS, FILTERED = " evictions", " filtered"


def table(material: Material) -> pd.DataFrame:
    """Performance relative to 16K entries; pages evicted; invalidations that L1 caches filtered."""
    designs = {f"{entries}": {"variant": OPT, KEY: entries} for entries in (WHOLE, *ENTRIES)}
    times = material.numbers("cycles", STUDIED, designs)
    small = {name: design for name, design in designs.items() if name != f"{WHOLE}"}
    evictions = material.numbers("fbt_evictions", STUDIED, small)
    filtered = material.numbers("l1_invalidations_filtered", STUDIED, small)
    performance = (1 / times[list(small)]).mul(times[f"{WHOLE}"], axis=0)
    return performance.join(evictions.add_suffix(EVICTIONS)).join(filtered.add_suffix(FILTERED))


def draw(table: pd.DataFrame) -> Picture:
    """Performance."""
    return bars(table[[f"{entries}" for entries in ENTRIES]], "relative to 16K entries")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the runs in which something was evicted."""
    filtered = table[[f"{entries}{FILTERED}" for entries in ENTRIES]]
    found = filtered.to_numpy(float)
    found = found[~np.isnan(found)]
    mean = 100 * found.mean() if found.size else float("nan")
    text = f"{found.size} runs with evictions"
    return {"vc.sec4.filter_effective": number(mean, text=text)}


FIGURE = Figure(
    id="vc.sec4.fbt_small",
    title="§4.2: small forward–backward tables",
    about="VC With OPT, four programs: performance relative to 16K entries, pages that had to go, "
    "and the share of messages about them that the filters of L1 caches stopped (nan: there "
    "were none).",
    claims=("vc.sec4.filter_effective",),
    sweeps=(sweep([OPT], STUDIED, record=["tlb"], axes={KEY: [WHOLE, *ENTRIES]}),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
