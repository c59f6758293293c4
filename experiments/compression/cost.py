"""COMP: what a compressed TLB keeps in hardware, and how many translations that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.cost import storage
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Bars, Material, Measured, figure, number

from .common import MODEL

if TYPE_CHECKING:
    import pandas as pd

MEMORY = {"memory.size": "2GiB"}
"""The physical memory for which the public summary has the widths."""

DESIGNS = ("baseline", "compression", "compression-no-rebase", "compression-unpartitioned")
PER_WAY = {"entries": 1, "compressed ways": 2}
USED = "of these used"


def compressed_tlbs(_: Material) -> pd.DataFrame:
    """Storage of the L2 TLB: bits of a way, translations, bytes; needs no run."""
    import pandas as pd

    return pd.DataFrame(map(_row, DESIGNS), index=pd.Index(DESIGNS, name="design"))


def _row(design: str) -> dict[str, float]:
    model = load_model(MODEL, [] if design == "baseline" else [design], MEMORY)
    kept = [part.storage for part in storage(model) if part.where == "tlb.L2" and part.storage]
    ways = [one for one in kept if one.name in PER_WAY]
    narrow = ways[-1]  # the compressed ones, if there are any
    return {
        "bits of a way": narrow.entry_bits,
        USED: narrow.entry_bits - narrow.fields.get("unused", 0),
        "translations": sum(PER_WAY[one.name] * one.count for one in ways),
        "bytes of bases and counters": sum(one.bits for one in kept if one not in ways) / 8,
    }


@figure(
    id="comp.cost",
    title="Storage of a compressed L2 TLB",
    about="With 2 GiB of physical memory, as the widths of the public summary have it. Valid bits "
    "and bits for replacement are not counted.",
    table=compressed_tlbs,
    draw=Bars("translations", lambda table: table[["translations"]], height=2.0),
    cell="{:.4g}",
)
def cost(table: pd.DataFrame) -> dict[str, Measured]:
    """The storage of a TLB of which half is compressed."""
    more = table["translations"]["compression"] / table["translations"]["baseline"]
    used, way = table[USED]["compression"], table["bits of a way"]["compression"]
    return {
        "comp.design.capacity": number(more),
        "comp.design.slot_fit": number(used, way),
    }
