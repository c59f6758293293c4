"""ORCH Fig. 4: reuse of translations within thread blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize.intensity import BIN_NAMES, BINS
from gpusim.studies.reproduce import Figure, Material, Measured, all_of, most, number

from .common import IRREGULAR, PROGRAMS, SURVEY, draw_bins

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SIZABLE = 0.05
"""A bin counts from this share on (our choice)."""

MIDDLES = (np.arange(BINS) + 0.5) / BINS


def table(material: Material) -> pd.DataFrame:
    """Shares of the blocks in each bin; mean intensities within and between blocks."""
    import pandas as pd

    (found,) = material.surveys
    apps = [found[workload] for workload in PROGRAMS.values()]
    rows = [app.intra_shares for app in apps]
    index = pd.Index(list(PROGRAMS), name="program")
    return pd.DataFrame(rows, index, pd.Index(BIN_NAMES)).assign(
        within=[float(app.intra_shares @ MIDDLES) for app in apps],
        between=[float(app.inter_shares @ MIDDLES) for app in apps],
    )


def draw(table: pd.DataFrame) -> Picture:
    """A stack a program."""
    return draw_bins(table, "Reuse within blocks", "blocks")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Bins of bfs and nw, how spread they are, and whether within is stronger than between."""
    shares = 100 * table[list(BIN_NAMES)]
    used = (shares.loc[IRREGULAR] >= 100 * SIZABLE).sum(axis=1)
    paired = table.dropna()  # a launch of one block has no pairs
    return {
        "orch.fig4.bfs_intra_bins": number(*shares.loc["bfs", list(BIN_NAMES[3:5])]),
        "orch.fig4.nw_intra_bins": number(*shares.loc["nw", list(BIN_NAMES[1:3])]),
        "orch.fig4.irregular_varied": all_of(used, lambda bins: bins > 1, "{} bins"),
        "orch.fig3_4.intra_gt_inter": most(paired["within"] > paired["between"]),
    }


FIGURE = Figure(
    id="orch.fig4",
    title="Fig. 4: reuse within thread blocks",
    about="Blocks by the share of their accesses whose page they have accessed before. *within* "
    "and *between* are the means of this and of Fig. 3, from the middles of the bins.",
    claims=(
        "orch.fig4.bfs_intra_bins",
        "orch.fig4.nw_intra_bins",
        "orch.fig4.irregular_varied",
        "orch.fig3_4.intra_gt_inter",
    ),
    surveys=(SURVEY,),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
