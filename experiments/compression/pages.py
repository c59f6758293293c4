"""COMP's characterisation: clusters, strides, identical upper bits, reuse distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize import ApplicationCharacterization
from gpusim.studies.reproduce import Figure, Material, Measured, Survey, most
from gpusim.studies.reproduce.pictures import Bars, panels

from .common import MODEL, PROGRAMS, WORKLOADS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

BASE_BITS = 18
"""Of a page number in a base (COMP, by a public summary)."""

NEAR = 512
"""Pages: 2 MB, the reach of a base's 9 bits of difference in frames."""

FAR = 64
"""Accesses between two to one page (our choice: as many as an L1 TLB has entries)."""

CLOSE, NEXT, STRIDE, REUSE = "moves < 2 MB", "moves to a neighbour", "top stride", f"reuse > {FAR}"
PAGE, FRAME, SCATTERED = "page bits", "frame bits", "frame bits, scattered"


def table(material: Material) -> pd.DataFrame:
    """Shares of moves and reuses; median numbers of upper bits that windows have in common."""
    import pandas as pd

    ordered, scattered = material.surveys
    rows = [_row(ordered[name], scattered[name]) for name in PROGRAMS.values()]
    return pd.DataFrame(rows, pd.Index(list(PROGRAMS), name="program"))


def _row(
    app: ApplicationCharacterization, scattered: ApplicationCharacterization
) -> dict[str, float]:
    moves = app.distributions["stride"].without(0)
    apart = np.abs(moves.value)
    total = max(moves.total, 1)
    return {
        CLOSE: int(moves.count[apart < NEAR].sum()) / total,
        NEXT: int(moves.count[apart == 1].sum()) / total,
        STRIDE: app.dominant_stride[1],
        REUSE: 1 - app.distributions["accesses_between"].at_most(FAR),
        PAGE: _median(app, "shared_page_bits"),
        FRAME: _median(app, "shared_frame_bits"),
        SCATTERED: _median(scattered, "shared_frame_bits"),
    }


def _median(app: ApplicationCharacterization, measure: str) -> float:
    """Of the windows; nan if there is no whole one."""
    bits = app.distributions[measure].quantile(0.5)
    return float("nan") if bits is None else float(bits)


def draw(table: pd.DataFrame) -> Picture:
    """Shares, and bits."""
    return panels(
        Bars(table[[CLOSE, NEXT, STRIDE, REUSE]], "share"),
        Bars(table[[PAGE, FRAME, SCATTERED]], "bits in common"),
    )


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """How many programs are so."""
    return {
        "comp.char.clustered": most(table[CLOSE] >= 0.5),
        "comp.char.no_common_stride": most(table[STRIDE] < 0.5),
        "comp.char.identical_bits": most(table[PAGE] >= BASE_BITS),
        "comp.char.reuse_distance_large": most(table[REUSE] > 0.5),
    }


FIGURE = Figure(
    id="comp.char.pages",
    title="Characterisation: where the pages lie",
    about="Of an SM's accesses one after another: of its moves to another page, those by less "
    "than 2 MB, to a neighbouring page, and by the most frequent stride; reuses with more "
    "than 64 accesses in between; upper bits that windows of 256 accesses have in common, "
    "median: of page numbers, of frame numbers as pages are first touched, and of frame "
    "numbers with scattered frames.",
    claims=(
        "comp.char.clustered",
        "comp.char.no_common_stride",
        "comp.char.identical_bits",
        "comp.char.reuse_distance_large",
    ),
    surveys=(
        Survey(model=MODEL, workloads=WORKLOADS),
        Survey(model=MODEL, workloads=WORKLOADS, settings={"memory.frames": "scattered"}),
    ),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.3g}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
