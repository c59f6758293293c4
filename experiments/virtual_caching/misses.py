"""Misses of VC's per-CU TLBs by where their lines are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Patch

from gpusim.studies.reproduce import Material, Measured, all_of, figure, number, one
from gpusim.views.plots import PALETTE, new_figure, stacked_bars, style

from .common import PANNOTIA, PROGRAMS, RODINIA, SMALL, WATCHED, falls, recorded, sweep
from .recorded import PLACES, misses

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture


L1, L2, MEMORY = PLACES
SIZES = {"32": SMALL, "64": "per-cu-64", "128": "per-cu-128", "inf": "per-cu-inf"}
"""Entries of a per-CU TLB."""

DIVERGENT = ["color_max", "fw", "mis", "bfs"]
SCRATCHPAD = ["pathfinder", "nw"]
ACROSS = 5
"""Panels side by side."""

MORE_IN_L2 = ["color_max", "fw_block", "mis", "pagerank", "pagerank_spmv", "bfs", "lud"]
ACCESSES = "accesses per instruction"


def misses_by_place(material: Material) -> pd.DataFrame:
    """Misses relative to lookups, by entries and place; coalesced accesses an instruction."""
    found = {size: recorded(misses, variant)(material) for size, variant in SIZES.items()}
    accesses = material.numbers("transactions_per_instruction", PROGRAMS, [SMALL])
    columns = {f"{size} {place}": found[size][place] for size in SIZES for place in PLACES}
    return accesses.set_axis([ACCESSES], axis=1).assign(**columns)


def _of(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Shares of lookups by place."""
    return table[[f"{size} {place}" for place in PLACES]].set_axis(list(PLACES), axis=1)


def _ratio(table: pd.DataFrame, size: str) -> pd.Series:
    return _of(table, size).sum(axis=1)


def _shares(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Shares of the misses by place, in percent."""
    found = _of(table, size)
    return 100 * found.div(found.sum(axis=1), axis=0)


def draw_by_program(table: pd.DataFrame) -> Picture:
    """A panel a program, Pannotia's first; a bar a size."""
    import pandas as pd

    figure = new_figure("page", height=3.9)
    colours = dict(zip(PLACES, PALETTE, strict=False))
    grid = figure.subplots(-(-len(PROGRAMS) // ACROSS), ACROSS, sharey=True)
    for axes, name in zip(grid.flat, (*PANNOTIA, *RODINIA), strict=True):
        rows = {size: _of(table, size).loc[name] for size in SIZES}
        stacked_bars(pd.DataFrame(rows).T, shares=False, colours=colours, title=name, ax=axes)
        axes.get_legend().remove()
    with style():
        grid[-1, ACROSS // 2].set_xlabel("entries of a per-CU TLB")
        grid[len(grid) // 2, 0].set_ylabel("misses / lookups")
        handles = [Patch(facecolor=colours[place], edgecolor="black") for place in PLACES]
        figure.legend(handles, PLACES, loc="outside upper center", ncols=len(PLACES))
    return figure


@figure(
    id="vc.fig2",
    title="Fig. 2: misses of per-CU TLBs by where their lines are",
    about="Of a TLB of 32, 64, 128 and infinitely many entries in each compute unit: misses, "
    "those that wait for one under way among them, relative to lookups, by where the line "
    "was in that cycle.",
    sweeps=(
        WATCHED,
        sweep(variants=[name for name in SIZES.values() if name != SMALL], record=["tlb_misses"]),
    ),
    table=misses_by_place,
    draw=draw_by_program,
)
def misses_of_cus(table: pd.DataFrame) -> dict[str, Measured]:
    """Arithmetic means over the programs."""
    ratios = {size: _ratio(table, size) for size in SIZES}
    means = [ratios[size].mean() for size in SIZES]
    shares = _shares(table, "32")
    mean = shares.mean()
    filterable = 100 - shares[MEMORY]
    larger = (ratios["64"] + ratios["128"]) / 2
    rest, scratch = larger.drop(DIVERGENT).mean(), ratios["inf"].drop(SCRATCHPAD).mean()
    suites = [filterable[names].mean() for names in (PANNOTIA, RODINIA)]
    return {
        "vc.fig2.miss_ratio": number(100 * means[0]),
        "vc.fig2.breakdown": number(*(mean[place] for place in PLACES)),
        "vc.fig2.filterable": number(filterable.mean(), mean[L1]),
        "vc.fig2.filterable_128": number(100 - _shares(table, "128")[MEMORY].mean()),
        "vc.fig2.size_monotone": Measured(
            holds=falls(means),
            text=" > ".join(f"{value:.1%}" for value in means),
        ),
        "vc.fig2.large_still_miss": all_of(
            100 * larger[DIVERGENT], lambda ratio: ratio > 100 * rest, "{:.1f} %"
        ),
        "vc.fig2.fw_divergence": number(table[ACCESSES]["fw"]),
        "vc.fig2.scratchpad_apps": all_of(
            100 * ratios["inf"][SCRATCHPAD], lambda ratio: ratio > 100 * scratch, "{:.1f} %"
        ),
        "vc.fig2.pannotia_more": one(
            suites[0] - suites[1], suites[0] > suites[1], "{:+.1f} points"
        ),
        "vc.fig2.l2_larger_share": all_of(
            (shares[L2] - shares[L1])[MORE_IN_L2], lambda more: more > 0
        ),
    }
