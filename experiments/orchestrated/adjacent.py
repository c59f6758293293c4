"""ORCH §IV-B: how much of the sharing between thread blocks is between adjacent ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusim.machine.load import load_model
from gpusim.studies.characterize.blocks import BlockAccesses, Geometry, run_block
from gpusim.studies.reproduce import Figure, Material, Measured, number
from gpusim.workloads.workload import load_workload

from .common import MATRIX, MODEL, PROGRAMS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

SHARED, ADJACENT, PART = "with any block", "with an adjacent one", "part of the sharing"


def table(material: Material) -> pd.DataFrame:
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


def draw(table: pd.DataFrame) -> Picture:
    """Both shares side by side."""
    return bars(table[[SHARED, ADJACENT]], "share of accesses", baseline=False)


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """Of the matrix programs, the part that is shared with an adjacent block."""
    parts = 100 * table.loc[MATRIX, PART]
    return {"orch.secIV.adjacent_sharing_dominates": number(*parts, text=", ".join(MATRIX))}


FIGURE = Figure(
    id="orch.secIV.adjacent",
    title="§IV-B: sharing between adjacent thread blocks",
    about="Share of all accesses whose page another block of the launch accesses, too, and of "
    "those whose page the block before or after does; of the programs that the claim is "
    "about.",
    claims=("orch.secIV.adjacent_sharing_dominates",),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
