"""ORCH §IV-D: what the mechanisms keep in hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.views.plots import bar_groups, new_figure

from .common import DESIGNS, MODEL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


def table(_: Material) -> pd.DataFrame:
    """Bytes that each design adds, all SMs together; needs no run."""
    import pandas as pd

    base = load_model(MODEL)
    added = {name: added_bytes(load_model(MODEL, [name]), base) for name in DESIGNS[1:]}
    return pd.DataFrame(added).fillna(0.0).rename_axis("structure")


def draw(table: pd.DataFrame) -> Picture:
    """Structures side by side."""
    figure = new_figure("page", height=2.4)
    short = table.rename(lambda name: name.partition(": ")[2])
    bar_groups(short, geomean=False, ylabel="bytes added", ax=figure.subplots())
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The table of hit rates alone."""
    rates = table["scheduling"]["block_scheduler: table of hit rates"]
    return {"orch.secIV.table_bytes": number(rates)}


FIGURE = Figure(
    id="orch.cost",
    title="§IV: storage of the mechanisms",
    about="Bytes that a design adds to the baseline, of all SMs. Entries of the L1 TLBs grow as "
    "the page number no longer tells their set.",
    claims=("orch.secIV.table_bytes",),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.4g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
