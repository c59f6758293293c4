"""ORCH Fig. 3: reuse of translations between thread blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.characterize.intensity import BIN_NAMES
from gpusim.studies.reproduce import Figure, Material, Measured, all_of, number

from .common import MATRIX, PROGRAMS, SURVEY, draw_bins

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SIZABLE = 0.05
"""A bin counts from this share on (our choice)."""


def table(material: Material) -> pd.DataFrame:
    """Shares of the pairs in each bin, and how many pairs were counted."""
    import pandas as pd

    (found,) = material.surveys
    rows = [found[workload].inter_shares for workload in PROGRAMS.values()]
    index = pd.Index(list(PROGRAMS), name="program")
    shares = pd.DataFrame(rows, index, pd.Index(BIN_NAMES))
    return shares.assign(pairs=[found[name].pairs_counted for name in PROGRAMS.values()])


def draw(table: pd.DataFrame) -> Picture:
    """A stack a program."""
    return draw_bins(table, "Reuse between blocks", "pairs")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Pairs of bfs in b1, of the matrix programs in b2 and b3."""
    middle = 100 * table.loc[MATRIX, list(BIN_NAMES[1:3])].sum(axis=1)
    return {
        "orch.fig3.bfs_inter_b1": number(100 * table[BIN_NAMES[0]]["bfs"]),
        "orch.fig3.matrix_inter": all_of(middle, lambda share: share >= 100 * SIZABLE, "{:.0f} %"),
    }


FIGURE = Figure(
    id="orch.fig3",
    title="Fig. 3: reuse between thread blocks",
    about="Ordered pairs of blocks of one launch, by the share of the first one's accesses whose "
    "page the second accesses, too.",
    claims=("orch.fig3.bfs_inter_b1", "orch.fig3.matrix_inter"),
    surveys=(SURVEY,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
