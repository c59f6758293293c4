"""Reuse of translations within and between ORCH's thread blocks, without a machine (§III, §IV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusim.machine.load import load_model
from gpusim.studies.characterize.blocks import BlockAccesses, Geometry, run_block
from gpusim.studies.characterize.characterization import TLB_MARK
from gpusim.studies.characterize.intensity import BIN_NAMES, BINS
from gpusim.studies.characterize.plot import plot_bins
from gpusim.studies.reproduce import Bars, Material, Measured, Survey, all_of, figure, most, number
from gpusim.views.plots import new_figure, sweep_lines
from gpusim.views.plots.labels import legend_above
from gpusim.workloads.workload import load_workload

from .common import IRREGULAR, MATRIX, MODEL, PROGRAMS, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.studies.reproduce.figure import Drawing

SURVEY = Survey(model=MODEL, workloads=WORKLOADS)

SIZABLE = 0.05
"""A bin counts from this share on (our choice)."""

MIDDLES = (np.arange(BINS) + 0.5) / BINS


def bins(title: str, what: str) -> Drawing:
    """Stacked bars of the first five columns: the bins of reuse intensity."""

    def draw(table: pd.DataFrame) -> Picture:
        figure = new_figure("page", height=2.4)
        shares = list(table.iloc[:, :5].to_numpy())
        plot_bins(figure.subplots(), list(table.index), shares, title, what)
        return figure

    return draw


def between_blocks(material: Material) -> pd.DataFrame:
    """Shares of the pairs in each bin, and how many pairs were counted."""
    import pandas as pd

    (found,) = material.surveys
    rows = [found[workload].inter_shares for workload in PROGRAMS.values()]
    index = pd.Index(list(PROGRAMS), name="program")
    shares = pd.DataFrame(rows, index, pd.Index(BIN_NAMES))
    return shares.assign(pairs=[found[name].pairs_counted for name in PROGRAMS.values()])


@figure(
    id="orch.fig3",
    title="Fig. 3: reuse between thread blocks",
    about="Ordered pairs of blocks of one launch, by the share of the first one's accesses whose "
    "page the second accesses, too.",
    surveys=(SURVEY,),
    table=between_blocks,
    draw=bins("Reuse between blocks", "pairs"),
)
def reuse_between_blocks(table: pd.DataFrame) -> dict[str, Measured]:
    """Pairs of bfs in b1, of the matrix programs in b2 and b3."""
    middle = 100 * table.loc[MATRIX, list(BIN_NAMES[1:3])].sum(axis=1)
    return {
        "orch.fig3.bfs_inter_b1": number(100 * table[BIN_NAMES[0]]["bfs"]),
        "orch.fig3.matrix_inter": all_of(middle, lambda share: share >= 100 * SIZABLE, "{:.0f} %"),
    }


def within_blocks(material: Material) -> pd.DataFrame:
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


@figure(
    id="orch.fig4",
    title="Fig. 4: reuse within thread blocks",
    about="Blocks by the share of their accesses whose page they have accessed before. *within* "
    "and *between* are the means of this and of Fig. 3, from the middles of the bins.",
    surveys=(SURVEY,),
    table=within_blocks,
    draw=bins("Reuse within blocks", "blocks"),
)
def reuse_within_blocks(table: pd.DataFrame) -> dict[str, Measured]:
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


DISTANCES = [1 << power for power in range(3, 14)]
"""Figures 5 and 6 begin at 2^3."""

BEYOND = f"beyond {TLB_MARK}"
NAMED = ["bfs", "mis", "nw", "atax", "bicg", "mvt"]


def distances(material: Material, measure: str) -> pd.DataFrame:
    """Shares of reuses up to each of `DISTANCES`, and of those beyond a TLB."""
    import pandas as pd

    (found,) = material.surveys
    rows = {}
    for name, workload in PROGRAMS.items():
        reuses = found[workload].distributions[measure]
        up_to = [reuses.at_most(bound) for bound in DISTANCES]
        rows[name] = [*up_to, 1 - reuses.at_most(TLB_MARK)]
    columns = [*(f"≤ {bound:,}" for bound in DISTANCES), BEYOND]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("program")


def draw_distances(table: pd.DataFrame) -> Picture:
    """Cumulative shares over powers of two, a line a program."""
    figure = new_figure("page", height=3)
    lines = table.iloc[:, : len(DISTANCES)].T
    lines.index = DISTANCES
    axes = sweep_lines(
        lines,
        xlabel="distinct other pages in between",
        ylabel="share of reuses",
        ax=figure.subplots(),
    )
    axes.axvline(
        TLB_MARK, color="black", linewidth=0.8, linestyle=(0, (4, 2)), label="entries of the TLB"
    )
    axes.set_ylim(0, 1.02)
    legend_above(axes)
    return figure


@figure(
    id="orch.fig5",
    title="Fig. 5: reuse distances, the blocks of an SM interleaved",
    about="Share of the reuses of a block with at most this many distinct other pages in between, "
    "accessed by any block of its SM. The dashed line is the capacity of an L1 TLB; the "
    "marks are exact.",
    surveys=(SURVEY,),
    table=lambda material: distances(material, "distance_interleaved"),
    draw=draw_distances,
)
def interleaved_distances(table: pd.DataFrame) -> dict[str, Measured]:
    """Shares of reuses beyond a TLB, of the programs that the paper names."""
    return {
        "orch.fig5.distance_exceeds_tlb": number(
            *(100 * table.loc[NAMED, BEYOND]), text=", ".join(NAMED)
        )
    }


INTERLEAVED = f"{BEYOND} in Fig. 5"


def distances_alone(material: Material) -> pd.DataFrame:
    """Shares of reuses up to a distance, and beside it the share beyond a TLB of Fig. 5."""
    together = distances(material, "distance_interleaved")
    return distances(material, "distance_alone").assign(**{INTERLEAVED: together[BEYOND]})


@figure(
    id="orch.fig6",
    title="Fig. 6: reuse distances, one block at a time",
    about="As Fig. 5, but of other pages only those count that the block itself accesses: an SM "
    "runs one block at a time.",
    surveys=(SURVEY,),
    table=distances_alone,
    draw=draw_distances,
)
def distances_of_lone_blocks(table: pd.DataFrame) -> dict[str, Measured]:
    """How many programs have fewer reuses beyond a TLB."""
    return {"orch.fig6.isolation_shrinks": most(table[BEYOND] < table[INTERLEAVED])}


SHARED, ADJACENT, PART = "with any block", "with an adjacent one", "part of the sharing"


def shares_with_others(material: Material) -> pd.DataFrame:
    """Shares of all accesses whose page another block accesses, too; runs the programs."""
    import pandas as pd

    rows = [_shares(PROGRAMS[name], material.scale) for name in MATRIX]
    index = pd.Index(MATRIX, name="program")
    table = pd.DataFrame(rows, index, pd.Index([SHARED, ADJACENT]))
    return table.assign(**{PART: table[ADJACENT] / table[SHARED]})


def _shares(workload: str, scale: str) -> tuple[float, float]:
    config = load_model(MODEL).config
    geometry = Geometry(config.sm.warp_size, int(config.l1.line), int(config.memory.page))
    application = load_workload(workload, scale).applications[0].start()
    total = np.zeros(3, dtype=np.int64)
    for launch in application.launches():
        total += shared([run_block(launch, index, geometry) for index in range(launch.blocks)])
    accesses, with_any, with_adjacent = total.tolist()
    return with_any / accesses, with_adjacent / accesses


def shared(blocks: Sequence[BlockAccesses]) -> tuple[int, int, int]:
    """Accesses of a launch: all, those to pages of other blocks, too, and of adjacent ones."""
    found = [np.unique(block.page, return_counts=True) for block in blocks]
    count = np.concatenate([count for _, count in found])
    block = np.repeat(np.arange(len(blocks)), [len(page) for page, _ in found])
    page = np.unique(np.concatenate([page for page, _ in found]), return_inverse=True)[1]
    others = np.bincount(page)[page] > 1
    place = page * (len(blocks) + 2) + block  # a gap of two keeps the last block from the first
    adjacent = np.isin(place + 1, place) | np.isin(place - 1, place)
    return int(count.sum()), int(count[others].sum()), int(count[adjacent].sum())


@figure(
    id="orch.secIV.adjacent",
    title="§IV-B: sharing between adjacent thread blocks",
    about="Share of all accesses whose page another block of the launch accesses, too, and of "
    "those whose page the block before or after does; of the programs that the claim is "
    "about.",
    table=shares_with_others,
    draw=Bars("share of accesses", lambda table: table[[SHARED, ADJACENT]]),
)
def adjacent_sharing(table: pd.DataFrame) -> dict[str, Measured]:
    """The part that is shared with an adjacent block, of the matrix programs."""
    parts = 100 * table.loc[MATRIX, PART]
    return {"orch.secIV.adjacent_sharing_dominates": number(*parts, text=", ".join(MATRIX))}
