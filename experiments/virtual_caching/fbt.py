"""VC §3 and §4: what the forward–backward table sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most, number
from gpusim.studies.reproduce.pictures import bars

from .common import OPT, PROGRAMS, RATES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


FOUND, L1, SYNONYMS = "found in the forward table", "L1 hit rate", "synonyms"
NUMBERS = {FOUND: "tlb_FBT_hit_rate", L1: "l1_hit_rate", SYNONYMS: "fbt_synonyms"}
LOW_RATE = 0.6


def table(material: Material) -> pd.DataFrame:
    """Of VC With OPT."""
    import pandas as pd

    return pd.DataFrame(
        {name: material.numbers(one, PROGRAMS, [OPT])[OPT] for name, one in NUMBERS.items()}
    )


def draw(table: pd.DataFrame) -> Picture:
    """Hit rates; synonyms are not drawn."""
    return bars(table[[FOUND, L1]], "hit rate")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic means over the programs."""
    return {
        "vc.sec3.synonyms_rare": number(100 * table[SYNONYMS].mean()),
        "vc.sec4.fbt_hit": number(100 * table[FOUND].mean()),
        "vc.sec4.l1_hit_low": most(table[L1] < LOW_RATE),
    }


FIGURE = Figure(
    id="vc.sec4.fbt",
    title="§4: what the forward–backward table sees",
    about="VC With OPT: misses of the IOMMU TLB whose page is in the forward table; hit rates of "
    "virtual L1 caches; misses of the L2 cache under names that do not lead.",
    claims=("vc.sec3.synonyms_rare", "vc.sec4.fbt_hit", "vc.sec4.l1_hit_low"),
    sweeps=(RATES,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
