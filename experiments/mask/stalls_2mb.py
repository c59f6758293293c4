"""MASK §4.1: what a TLB miss stalls with pages of 2 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured
from gpusim.studies.reproduce.pictures import bars
from gpusim.studies.sweep.spec import Sweep

from .common import BASE, HUGE, MODEL, PROGRAMS, SMS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

PAGES = {"4 KB": BASE, "2 MB": f"{BASE}+{HUGE}"}
MISSES = " misses a core"
MOST_MISSES = 5


def table(material: Material) -> pd.DataFrame:
    """Stalled warps as a share of those resident on an SM; walks that an SM waits for at once."""
    designs = {name: {"variant": variant} for name, variant in PAGES.items()}

    def numbers(number: str) -> pd.DataFrame:
        return material.numbers(number, PROGRAMS, designs)

    resident = numbers("warp_cycles") / numbers("cycles") / SMS
    misses = numbers("tlb_L1_long_misses") / SMS
    return (numbers("tlb_L1_stalled_warps") / resident).join(misses.add_suffix(MISSES))


def draw(table: pd.DataFrame) -> Picture:
    """The shares."""
    return bars(table[list(PAGES)], "warps stalled by a miss,\nshare of those resident")


def measure(table: pd.DataFrame) -> dict[str, Measured]:
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


FIGURE = Figure(
    id="mask.sec41",
    title="§4.1: TLB misses with pages of 2 MB",
    about="Each application alone on all SMs, SharedTLB. Residents are the warps of a mean SM "
    "and cycle, so that an application that leaves SMs idle can have shares above 1.",
    claims=("mask.sec41.large_page_stall",),
    sweeps=(Sweep(models=MODEL, workloads=PROGRAMS.values(), variants=PAGES.values()),),
    table=table,
    draw=draw,
    measure=measure,
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
