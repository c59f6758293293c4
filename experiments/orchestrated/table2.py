"""ORCH Table II: footprints of the programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.views.plots import bar_groups, new_figure
from gpusim.workloads.library import find_workload
from gpusim.workloads.sizes import size_of

from .common import PROGRAMS

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


def table(material: Material) -> pd.DataFrame:
    """MB of all arrays, which need no run."""
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


def draw(table: pd.DataFrame) -> Picture:
    """On a logarithmic axis: they span three orders of magnitude."""
    figure = new_figure("page", height=2.4)
    axes = bar_groups(table, geomean=False, ylabel="footprint in MB", ax=figure.subplots())
    axes.set_yscale("log")
    axes.set_ylim(0.01, 1000)
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """The order of ours at paper scale."""
    ours = table["paper scale"]
    order = " > ".join(map(str, ours.sort_values(ascending=False, kind="stable").index))
    return {"orch.table2.footprint_order": number(*ours, text=order)}


FIGURE = Figure(
    id="orch.table2",
    title="Table II: footprints",
    about="Sizes of all arrays in MB. At smaller scales the graphs are smaller; the matrices are "
    "not.",
    claims=("orch.table2.footprint_order",),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.4g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
