"""Each application of MASK alone on all SMs: page walks, and the warps that a TLB miss stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    AVERAGE,
    Bars,
    Figure,
    Material,
    Measured,
    figure,
    number,
    numbers_of_one,
    with_average,
)
from gpusim.studies.sweep.spec import Sweep

from .common import BASE, HUGE, MODEL, PROGRAMS, SMS

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.studies.reproduce.figure import Measure
    from gpusim.studies.reproduce.tables import Table

ALONE = Sweep(models=MODEL, workloads=PROGRAMS.values(), variants=[BASE])

MEAN, MOST = "mean", "most"


def mean_and_most(mean: str, most: str) -> Table:
    """The table of two headline numbers; then means over the applications."""
    return numbers_of_one({MEAN: mean, MOST: most}, PROGRAMS, {"variant": BASE}, with_average)


def highest(claim: str, column: str, cell: str) -> Measure:
    """What is set beside a claim: the application with the most, and the mean over all."""

    def measure(table: pd.DataFrame) -> dict[str, Measured]:
        each = table.drop(index=AVERAGE)[column]
        mean = f"mean over the applications {table[MEAN][AVERAGE]:.1f}"
        text = f"{cell.format(each.max())} ({each.idxmax()}); {mean}"
        return {claim: number(each.max(), text=text)}

    return measure


WALKS = Figure(
    id="mask.fig5",
    title="Fig. 5: page walks at once",
    about="Each application alone on all SMs, SharedTLB. The mean is over all cycles, not over "
    "samples 10,000 cycles apart.",
    sweeps=(ALONE,),
    table=mean_and_most("concurrent_walks", "concurrent_walks_max"),
    draw=Bars("page walks at once"),
    measure=highest("mask.fig5.concurrent_walks", MEAN, "{:.1f}"),
    cell="{:.1f}",
)

STALLED_WARPS = Figure(
    id="mask.fig6",
    title="Fig. 6: warps stalled by a TLB miss",
    about="Each application alone on all SMs, SharedTLB: warps of one SM that a page stalls which "
    "neither its L1 TLB nor the L2 TLB has: they wait for it, or their own misses until it is "
    "there.",
    sweeps=(ALONE,),
    table=mean_and_most("tlb_L1_stalled_by_miss", "tlb_L1_stalled_by_miss_max"),
    draw=Bars("warps of an SM that\none walk stalls"),
    measure=highest("mask.fig6.stalled_warps", MOST, "{:.0f}"),
    cell="{:.1f}",
)

PAGES = {"4 KB": BASE, "2 MB": f"{BASE}+{HUGE}"}
MISSES = " misses a core"
MOST_MISSES = 5


def stalls_by_page_size(material: Material) -> pd.DataFrame:
    """Stalled warps as a share of those resident on an SM; walks that an SM waits for at once."""
    designs = {name: {"variant": variant} for name, variant in PAGES.items()}

    def numbers(number: str) -> pd.DataFrame:
        return material.numbers(number, PROGRAMS, designs)

    resident = numbers("warp_cycles") / numbers("cycles") / SMS
    misses = numbers("tlb_L1_long_misses") / SMS
    return (numbers("tlb_L1_stalled_by_miss") / resident).join(misses.add_suffix(MISSES))


@figure(
    id="mask.sec41",
    title="§4.1: TLB misses with pages of 2 MB",
    about="Each application alone on all SMs, SharedTLB. Residents are the warps of a mean SM "
    "and cycle, so that an application that leaves SMs idle can have shares above 1.",
    sweeps=(Sweep(models=MODEL, workloads=PROGRAMS.values(), variants=PAGES.values()),),
    table=stalls_by_page_size,
    draw=Bars("warps stalled by a miss,\nshare of those resident", lambda table: table[[*PAGES]]),
)
def large_page_stalls(table: pd.DataFrame) -> dict[str, Measured]:
    """Means, and the application with the most misses at once."""
    small, large = table["4 KB"].mean(), table["2 MB"].mean()
    misses = table["2 MB" + MISSES]
    most = f"at most {misses.max():.1f} misses ({misses.idxmax()})"
    return {
        "mask.sec41.large_page_stall": Measured(
            holds=bool(large > small and misses.max() <= MOST_MISSES),
            text=f"{small:.0%} → {large:.0%}; {most}",
        )
    }
