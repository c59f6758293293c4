"""VC §3: how long lookups queue for the IOMMU TLB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, with_average
from gpusim.studies.reproduce.pictures import bars

from .common import BASELINES, HIGH, OPT, RATES, some
from .fig05 import LIMITED, WIDTHS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


DESIGNS = {f"{width} a cycle": {"variant": name} for width, name in WIDTHS.items()}
DESIGNS["VC With OPT"] = {"variant": OPT}


def table(material: Material) -> pd.DataFrame:
    """Mean cycles."""
    return with_average(material.numbers("tlb_L2_queueing", some(HIGH), DESIGNS))


def draw(table: pd.DataFrame) -> Picture:
    """Programs side by side."""
    return bars(table, "cycles in the queue")


FIGURE = Figure(
    id="vc.queue",
    title="§3: the queue of the IOMMU TLB",
    about="Mean cycles that a lookup waits for its turn. The queue has 64 places in the limited "
    "designs; what finds it full waits in the MSHRs of the compute units, which is not "
    "counted here.",
    sweeps=(BASELINES, RATES, LIMITED),
    table=table,
    draw=draw,
    cell="{:.1f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
