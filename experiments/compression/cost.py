"""COMP: what a compressed TLB keeps in hardware, and how many translations that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.config.load import load_model
from gpusim.cost import storage
from gpusim.plots import bar_groups, new_figure
from gpusim.reproduce import Figure, Material, Measured, number
from gpusim.structures import Storage

from .common import MODEL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

MEMORY = {"memory.size": "2GiB"}
"""The physical memory for which the widths are told."""

DESIGNS = ("baseline", "compression")
PER_WAY = {"entries": 1, "compressed ways": 2}


def table(_: Material) -> pd.DataFrame:
    """Of the L2 TLB: bits of a way, translations, bytes; needs no run."""
    import pandas as pd

    columns = {}
    for name in DESIGNS:
        model = load_model(MODEL, [] if name == "baseline" else [name], MEMORY)
        kept = [part.storage for part in storage(model) if part.where == "tlb.L2" and part.storage]
        ways = [one for one in kept if one.name in PER_WAY]
        columns[name] = {
            "bits of a way": ways[0].entry_bits,
            "of these used, in a compressed way if there are any": _used(ways[-1]),
            "translations": sum(PER_WAY[one.name] * one.count for one in ways),
            "bytes of bases and counters": sum(one.bits for one in kept if one not in ways) / 8,
        }
    return pd.DataFrame(columns).rename_axis("of the L2 TLB")


def _used(ways: Storage) -> int:
    return ways.entry_bits - ways.fields.get("unused", 0)


def draw(table: pd.DataFrame) -> Picture:
    """Both designs side by side."""
    figure = new_figure("page", height=2.4)
    bar_groups(table, geomean=False, ylabel="bits, entries, bytes", ax=figure.subplots())
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Ratios of rows."""
    designs = table["compression"]
    more = designs["translations"] / table["baseline"]["translations"]
    return {
        "comp.design.capacity": number(float(more)),
        "comp.design.slot_fit": number(
            float(designs["of these used, in a compressed way if there are any"]),
            float(designs["bits of a way"]),
        ),
    }


FIGURE = Figure(
    id="comp.cost",
    title="Storage of a compressed L2 TLB",
    about="With 2 GiB of physical memory, as the widths of the public summary have it. Valid bits "
    "and bits for replacement are not counted.",
    claims=("comp.design.capacity", "comp.design.slot_fit"),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.4g}",
)

if __name__ == "__main__":
    from gpusim.cli.reproduce import script

    script(FIGURE)
