"""Sizes that need no run: footprints of ORCH's programs, storage of its mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.machine.cost import added_bytes
from gpusim.machine.load import load_model
from gpusim.studies.reproduce import Bars, Material, Measured, figure, number
from gpusim.workloads.library import find_workload
from gpusim.workloads.sizes import size_of

from .common import DESIGNS, MODEL, PROGRAMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

PAPER = {
    "bfs": 107.48,
    "3dconv": 21.32,
    "gemm": 18.28,
    "pagerank": 14.70,
    "color": 12.89,
    "mis": 8.44,
    "atax": 4.51,
    "mvt": 4.38,
    "bicg": 3.76,
    "nw": 0.72,
}
"""As printed, in GB there; in the order of the claim."""


def footprints(material: Material) -> pd.DataFrame:
    """MB of all arrays."""
    import pandas as pd

    def megabytes(name: str, scale: str) -> float:
        size = size_of(find_workload(PROGRAMS[name]), scale)
        return float("nan") if size is None else size.footprint / 1e6

    columns = {
        "the paper": list(PAPER.values()),
        "paper scale": [megabytes(name, "paper") for name in PAPER],
    }
    if material.scale != "paper":
        columns[f"{material.scale} scale"] = [megabytes(name, material.scale) for name in PAPER]
    return pd.DataFrame(columns, index=pd.Index(list(PAPER), name="program"))


def draw_footprints(table: pd.DataFrame) -> Picture:
    """On a logarithmic axis: they span three orders of magnitude."""
    figure = Bars("footprint in MB")(table)
    (axes,) = figure.axes
    axes.set_yscale("log")
    axes.set_ylim(0.01, 1000)
    return figure


@figure(
    id="orch.table2",
    title="Table II: footprints",
    about="Sizes of all arrays in MB. At smaller scales the graphs are smaller; the matrices are "
    "not.",
    table=footprints,
    draw=draw_footprints,
    cell="{:.4g}",
)
def order_of_footprints(table: pd.DataFrame) -> dict[str, Measured]:
    """The order of ours at paper scale."""
    ours = table["paper scale"]
    order = " > ".join(map(str, ours.sort_values(ascending=False, kind="stable").index))
    return {"orch.table2.footprint_order": number(*ours, text=order)}


def added_storage(_: Material) -> pd.DataFrame:
    """Bytes that each design adds, all SMs together."""
    import pandas as pd

    base = load_model(MODEL)
    added = {name: added_bytes(load_model(MODEL, [name]), base) for name in DESIGNS[1:]}
    return pd.DataFrame(added).fillna(0.0).rename_axis("structure")


@figure(
    id="orch.cost",
    title="§IV: storage of the mechanisms",
    about="Bytes that a design adds to the baseline, of all SMs. Entries of the L1 TLBs grow as "
    "the page number no longer tells their set.",
    table=added_storage,
    draw=Bars("bytes added", lambda table: table.rename(lambda name: name.partition(": ")[2])),
    cell="{:.4g}",
)
def storage(table: pd.DataFrame) -> dict[str, Measured]:
    """The table of hit rates alone."""
    rates = table["scheduling"]["block_scheduler: table of hit rates"]
    return {"orch.secIV.table_bytes": number(rates)}
