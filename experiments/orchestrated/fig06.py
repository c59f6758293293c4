"""ORCH Fig. 6: reuse distances of thread blocks that have an SM for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, most

from .common import BEYOND, PROGRAMS, SURVEY, cumulative, draw_distances

if TYPE_CHECKING:
    import pandas as pd

INTERLEAVED = f"{BEYOND} in Fig. 5"


def table(material: Material) -> pd.DataFrame:
    """Shares of reuses up to a distance, and beside it the share beyond a TLB of Fig. 5."""
    (found,) = material.surveys
    apps = {name: found[workload] for name, workload in PROGRAMS.items()}
    together = cumulative(apps, "distance_interleaved")
    return cumulative(apps, "distance_alone").assign(**{INTERLEAVED: together[BEYOND]})


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How many programs have fewer reuses beyond a TLB."""
    return {"orch.fig6.isolation_shrinks": most(table[BEYOND] < table[INTERLEAVED])}


FIGURE = Figure(
    id="orch.fig6",
    title="Fig. 6: reuse distances, one block at a time",
    about="As Fig. 5, but of other pages only those count that the block itself accesses: an SM "
    "runs one block at a time.",
    claims=("orch.fig6.isolation_shrinks",),
    surveys=(SURVEY,),
    table=table,
    draw=draw_distances,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
