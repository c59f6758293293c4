"""VC §4.3: a forward–backward table of half the size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.studies.reproduce.pictures import bars

from .common import OPT, PROGRAMS, RATES, cycles, sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


HALF = "vc-opt-8k"
TIME, EVICTIONS = "performance with 8K entries", "evictions"


def table(material: Material) -> pd.DataFrame:
    """Time with 16K entries relative to that with 8K; pages that 8K entries had to evict."""
    import pandas as pd

    times = cycles(material, [OPT, HALF])
    evictions = material.numbers("fbt_evictions", PROGRAMS, [HALF])[HALF]
    return pd.DataFrame({TIME: times[OPT] / times[HALF], EVICTIONS: evictions})


def draw(table: pd.DataFrame) -> Picture:
    """The times."""
    return bars(table[[TIME]], "relative to 16K entries")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic mean over the programs."""
    text = f"{table[EVICTIONS].sum():.0f} pages evicted in all"
    return {"vc.sec4.fbt_8k": number(table[TIME].mean(), text=text)}


FIGURE = Figure(
    id="vc.sec4.fbt_8k",
    title="§4.3: a forward–backward table of 8K entries",
    about="VC With OPT with 8K entries beside 16K; our shortened programs touch fewer pages than "
    "the paper's.",
    claims=("vc.sec4.fbt_8k",),
    sweeps=(RATES, sweep([HALF], record=["tlb"])),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
