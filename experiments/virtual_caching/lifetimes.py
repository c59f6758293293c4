"""How long translations and lines live on VC's baseline, and how many pages have lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusim.studies.reproduce import Bars, Lines, Material, Measured, figure, number

from .common import SMALL, WATCHED, recorded, some
from .recorded import MOST_PAGES, PAGES, resident_pages

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from gpusim.results.result import Result

MANY = 12_000
FEW = 3
"""Programs that are few (our choice)."""


@figure(
    id="vc.sec3.resident",
    title="§3.1: pages in the L2 cache",
    about="Distinct pages of 4 KB with lines in the L2 cache of the baseline; its 2 MB are 16,384 "
    "lines.",
    sweeps=(WATCHED,),
    table=recorded(resident_pages, SMALL),
    draw=Bars("pages in the L2 cache"),
    cell="{:.0f}",
)
def pages_in_the_l2_cache(table: pd.DataFrame) -> dict[str, Measured]:
    """Mean over the programs, and how many have many."""
    most = table[MOST_PAGES]
    return {
        "vc.sec3.resident_pages": number(table[PAGES].mean()),
        "vc.sec4.resident_pages_max": Measured(
            holds=bool((most > MANY).sum() <= FEW),
            text=f"at most {most.max():.0f} ({most.idxmax()})",
        ),
    }


TLB, L1, L2 = "TLB entries", "L1 data", "L2 data"
STRUCTURES = (TLB, L1, L2)
"""In the order of the column ``structure``."""

PROGRAM = "bfs"
TIMES = list(range(0, 30_001, 1000))
"""ns."""

STATED = 5000
"""The time for which the paper states shares, in ns."""


def alive(result: Result) -> Mapping[str, float]:
    """Shares that outlive each time, of those filled long enough before the end of the run.

    Translations live until they are evicted, lines until they are last used.
    """
    lives = result.table("lifetimes", columns=["structure", "begin", "last", "end"])
    end, hertz = result.summary["cycles"], result.summary["core_clock"]
    found = {}
    for index, name in enumerate(STRUCTURES):
        own = lives[lives.structure == index]
        until = own["last"] if name != TLB else own.end.where(own.end >= 0, np.inf)
        for ns in TIMES:
            cycles = ns * hertz / 1e9
            seen = own.begin + cycles <= end
            found[f"{name} {ns}"] = float((until - own.begin)[seen].gt(cycles).mean())
    return found


def shares_alive(material: Material) -> pd.DataFrame:
    """Shares by time in ns, as far as the run goes."""
    import pandas as pd

    row = material.read(alive, some([PROGRAM]), {"variant": SMALL}).get(PROGRAM, {})
    columns = {name: [row.get(f"{name} {ns}", np.nan) for ns in TIMES] for name in STRUCTURES}
    return pd.DataFrame(columns, pd.Index(TIMES, name="ns")).dropna()


@figure(
    id="vc.fig12",
    title="Fig. 12: lifetimes in bfs",
    about="Shares of translations in per-CU TLBs that are not yet evicted, and of lines that will "
    "be used again, by the time since they were filled; Baseline 512.",
    sweeps=(WATCHED,),
    table=shares_alive,
    draw=Lines("ns after it was filled", "share alive"),
)
def lifetimes(table: pd.DataFrame) -> dict[str, Measured]:
    """At the paper's time."""
    tlb, l1, l2 = (100 * table.reindex([STATED]).T[STATED]).tolist()
    return {
        "vc.fig12.lifetimes": number(100 - tlb, l1, l2),
        "vc.fig12.order": Measured(
            holds=bool(l2 > l1 > tlb), text=f"{l2:.1f}, {l1:.1f} and {tlb:.1f} % alive"
        ),
    }
