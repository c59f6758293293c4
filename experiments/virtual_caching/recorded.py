"""Numbers made of what a run recorded of TLBs and caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusim.core.states import State
from gpusim.results.transactions import line_and_page
from gpusim.views.timelines.activity import activity
from gpusim.views.timelines.window import Window

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

PLACES = ("L1 cache", "L2 cache", "memory")
MEAN, DEVIATION, MOST, ABOVE = "mean", "deviation", "most", "windows above 1"
CONFLICTS = "conflicts"
PAGES, MOST_PAGES = "pages", "most pages"
L2_CACHE = 2
"""In the column ``structure`` of `lifetimes`."""

IOMMU = "L2"
"""The TLB level that is the IOMMU's."""

BANKS = 4
"""Banks of a multi-banked IOMMU TLB (our choice: the paper gives no number)."""


def misses(result: Result) -> Mapping[str, float]:
    """Misses of the per-CU TLBs relative to their lookups, by where the line was."""
    found = np.zeros(len(PLACES))
    for chunk in result.chunks("tlb_misses", ["place"]):
        found += np.bincount(chunk.place, minlength=len(PLACES))
    lookups = result.summary["tlb_L1_lookups"]
    return dict(zip(PLACES, (found / lookups).tolist(), strict=True))


def rates(result: Result) -> Mapping[str, float]:
    """Lookups a cycle of the IOMMU TLB in windows of 1 µs; the last one, a part, is left out."""
    width = round(result.summary["core_clock"] * 1e-6)
    end = int(result.summary["cycles"])
    window = Window(0, end, width)
    found = activity(result, window).tlb_lookups.sel(level=IOMMU).to_numpy()
    found = found[: max(end // width, 1)]
    return {
        MEAN: float(found.mean()),
        DEVIATION: float(found.std()),
        MOST: float(found.max()),
        ABOVE: float((found > 1).mean()),
    }


def conflicts(result: Result) -> Mapping[str, float]:
    """Share of the lookups that find their bank taken by another one of the same cycle."""
    level = result.states.index(f"tlb_{IOMMU}") - State.TLB
    lookups = result.table("tlb", columns=["level", "vpn", "cycle"])
    lookups = lookups[lookups.level == level]
    turns = lookups.cycle.to_numpy() * BANKS + lookups.vpn.to_numpy() % BANKS
    return {CONFLICTS: 1 - len(np.unique(turns)) / max(len(turns), 1)}


def resident_pages(result: Result) -> Mapping[str, float]:
    """Distinct pages with lines in the L2 cache: mean over time, and the most."""
    lives = result.table("lifetimes", columns=["structure", "place", "begin", "end"])
    lives = lives[lives.structure == L2_CACHE]
    end = int(result.summary["cycles"])
    begins, ends = covered(lives, line_and_page(result)[1], end)
    times = np.concatenate((begins, ends))
    steps = np.repeat((1, -1), (len(begins), len(ends)))
    order = np.lexsort((steps, times))  # what ends in a cycle ends before what begins
    return {
        PAGES: float((ends - begins).sum() / end),
        MOST_PAGES: float(np.cumsum(steps[order]).max(initial=0)),
    }


def covered(
    lives: pd.DataFrame, lines: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begins and ends of the times in which a page has some line.

    Args:
        lives: of lines: place, begin, end (-1: none).
        lines: of a page.
        end: of the run.
    """
    began = lives.begin.to_numpy(np.int64)
    ended = np.where(lives.end < 0, end, lives.end).astype(np.int64)
    page = np.tile(lives.place.to_numpy(np.int64) // lines, 2)
    times = np.concatenate((began, ended))
    steps = np.repeat((1, -1), (len(began), len(ended)))
    order = np.lexsort((-steps, times, page))  # by page; a line that follows at once keeps it
    held = np.cumsum(steps[order])  # back at 0 at the end of each page
    last = held == 0
    first = np.append(True, last[:-1])[: len(held)]
    return times[order][first], times[order][last]
