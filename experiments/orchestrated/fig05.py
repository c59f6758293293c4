"""ORCH Fig. 5: reuse distances of thread blocks that share an SM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, number

from .common import BEYOND, PROGRAMS, SURVEY, cumulative, draw_distances

if TYPE_CHECKING:
    import pandas as pd

NAMED = ["bfs", "mis", "nw", "atax", "bicg", "mvt"]


def table(material: Material) -> pd.DataFrame:
    """Shares of reuses up to a distance."""
    (found,) = material.surveys
    apps = {name: found[workload] for name, workload in PROGRAMS.items()}
    return cumulative(apps, "distance_interleaved")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Of the programs that the paper names, the shares beyond a TLB."""
    return {
        "orch.fig5.distance_exceeds_tlb": number(
            *(100 * table.loc[NAMED, BEYOND]), text=", ".join(NAMED)
        )
    }


FIGURE = Figure(
    id="orch.fig5",
    title="Fig. 5: reuse distances, the blocks of an SM interleaved",
    about="Share of the reuses of a block with at most so many distinct other pages in between, "
    "accessed by any block of its SM. The dashed line is the capacity of an L1 TLB; the "
    "marks are exact.",
    claims=("orch.fig5.distance_exceeds_tlb",),
    surveys=(SURVEY,),
    table=table,
    draw=draw_distances,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
