"""VC §3.2: conflicts in a multi-banked IOMMU TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, all_of
from gpusim.studies.reproduce.pictures import bars

from .common import PROGRAMS, RATES, UNLIMITED, recorded
from .recorded import CONFLICTS, conflicts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


FREQUENT = ["mis", "color_max"]


def table(material: Material) -> pd.DataFrame:
    """Share of the lookups that find their bank taken."""
    return recorded(material, conflicts, PROGRAMS, UNLIMITED)


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "share of lookups")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The two that the paper names, beside the mean of all."""
    found = 100 * table[CONFLICTS]
    mean = found.mean()
    return {
        "vc.sec3.bank_conflicts": all_of(found[FREQUENT], lambda share: share > mean, "{:.1f} %")
    }


FIGURE = Figure(
    id="vc.sec3.banks",
    title="§3.2: conflicts in a multi-banked IOMMU TLB",
    about="Of the lookups of an IOMMU TLB that answers any number a cycle, those whose bank, of "
    "four by the lowest bits of the page number, another lookup of the same cycle has.",
    claims=("vc.sec3.bank_conflicts",),
    sweeps=(RATES,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
