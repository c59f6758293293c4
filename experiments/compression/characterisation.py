"""COMP's characterisation of its programs: TLB hit rates, ideal TLBs, where the pages lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.characterize import ApplicationCharacterization
from gpusim.studies.reproduce import (
    Bars,
    Material,
    Measured,
    Survey,
    figure,
    gain,
    most,
    number,
    panels,
)
from gpusim.studies.reproduce.verdict import POOR

from .common import L2_RATE, MODEL, PROGRAMS, WORKLOADS, sweep

if TYPE_CHECKING:
    import pandas as pd

IDEAL_L1, IDEAL_L2 = "ideal-l1-tlb", "ideal-l2-tlb"
VARIANTS = ("baseline", IDEAL_L1, IDEAL_L2)
L1, L2 = "L1 TLB hit rate", "L2 TLB hit rate"
SIGNIFICANT = 5.0
"""Percent (our choice)."""


def ideal_tlbs(material: Material) -> pd.DataFrame:
    """Hit rates of the baseline, and gains of the ideal TLBs in percent."""
    import pandas as pd

    cycles = material.numbers("cycles", PROGRAMS, VARIANTS)
    rate = {
        name: material.numbers(number, PROGRAMS, ["baseline"])["baseline"]
        for name, number in ((L1, "tlb_L1_hit_rate_mean"), (L2, L2_RATE))
    }
    return pd.DataFrame(rate).assign(
        **{variant: gain(cycles, variant) for variant in (IDEAL_L1, IDEAL_L2)}
    )


def speedups(table: pd.DataFrame) -> pd.DataFrame:
    """Speedups of the ideal TLBs over the baseline."""
    return (table[[IDEAL_L1, IDEAL_L2]] / 100 + 1).assign(baseline=1.0)


@figure(
    id="comp.char.tlbs",
    title="Characterisation: TLB hit rates, and ideal TLBs",
    about="Hit rates of the baseline; gains in percent of L1 TLBs without access latency, which "
    "may miss, and of an L2 TLB that always hits.",
    sweeps=(sweep(variants=VARIANTS),),
    table=ideal_tlbs,
    draw=panels(
        Bars("hit rate", lambda table: table[[L1, L2]]),
        Bars("speedup over the baseline", speedups, line="baseline", geomean=True, limit=4),
    ),
)
def tlbs(table: pd.DataFrame) -> dict[str, Measured]:
    """How many are poor, and what ideal TLBs bring on average."""
    first, second = float(table[IDEAL_L1].mean()), float(table[IDEAL_L2].mean())
    both = f"mean gains: {IDEAL_L1} {first:.1f} %, {IDEAL_L2} {second:.1f} %"
    return {
        "comp.char.low_hit": most((table[L1] < POOR) & (table[L2] < POOR)),
        "comp.char.hit_matters": Measured(holds=second >= SIGNIFICANT, text=f"{second:.1f} %"),
        "comp.char.ideal_l2_over_l1": Measured(holds=second > 0 and second >= 2 * first, text=both),
        "comp.char.ideal_l1_small": number(first),
    }


BASE_BITS = 18
"""Bits of a page number in a base (COMP, by a public summary)."""

NEAR = 512
"""Pages: 2 MB, the reach of a base's 9 bits of difference in frames."""

FAR = 64
"""Accesses between two to one page (our choice: as many as an L1 TLB has entries)."""

CLOSE, NEXT, STRIDE, REUSE = "moves < 2 MB", "moves to a neighbour", "top stride", f"reuse > {FAR}"
PAGE, FRAME, SCATTERED = "page bits", "frame bits", "frame bits, scattered"


def where_pages_lie(material: Material) -> pd.DataFrame:
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
    """The median over the windows; nan if there is no whole window."""
    bits = app.distributions[measure].quantile(0.5)
    return float("nan") if bits is None else float(bits)


@figure(
    id="comp.char.pages",
    title="Characterisation: where the pages lie",
    about="Of an SM's accesses one after another: of its moves to another page, those by less "
    "than 2 MB, to a neighbouring page, and by the most frequent stride; reuses with more "
    "than 64 accesses in between; upper bits that windows of 256 accesses have in common, "
    "median: of page numbers, of frame numbers as pages are first touched, and of frame "
    "numbers with scattered frames.",
    surveys=(
        Survey(model=MODEL, workloads=WORKLOADS),
        Survey(model=MODEL, workloads=WORKLOADS, settings={"memory.frames": "scattered"}),
    ),
    table=where_pages_lie,
    draw=panels(
        Bars("share", lambda table: table[[CLOSE, NEXT, STRIDE, REUSE]]),
        Bars("bits in common", lambda table: table[[PAGE, FRAME, SCATTERED]]),
    ),
    cell="{:.3g}",
)
def pages(table: pd.DataFrame) -> dict[str, Measured]:
    """How many programs are so."""
    return {
        "comp.char.clustered": most(table[CLOSE] >= 0.5),
        "comp.char.no_common_stride": most(table[STRIDE] < 0.5),
        "comp.char.identical_bits": most(table[PAGE] >= BASE_BITS),
        "comp.char.reuse_distance_large": most(table[REUSE] > 0.5),
    }
