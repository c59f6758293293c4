"""STAR Table II: L2 TLB misses of the ten applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Measured, counted, number
from gpusim.studies.sweep.point import BASELINE

from .common import ALONE_SWEEP, BASE, ENTRIES, PROGRAMS, bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result

PAPER, HERE, CLASS, OUR_CLASS = "the paper", "here", "class", "class here"
FIRST = "here, not merged"


def class_of(mpki: float) -> str:
    """L, M or H (§III-B)."""
    return "L" if mpki < 1 else "M" if mpki <= 100 else "H"


def first_share(result: Result) -> float:
    """Part of the L2 TLB's misses that do not wait for one that is under way."""
    counts = counted(result, "tlb/L2")
    return 1 - counts["merged"] / counts["misses"] if counts["misses"] else 1.0


def table(material: Material) -> pd.DataFrame:
    """L2 TLB misses per 1000 instructions, alone on three slices."""
    found = material.numbers("tlb_L2_mpki", PROGRAMS, [BASE]).rename(columns={BASE: HERE})
    first = material.read(first_share, PROGRAMS, {"variant": BASELINE})
    found[FIRST] = [found[HERE][name] * first[name] for name in PROGRAMS]
    stated = [ENTRIES[name].table.stated for name in PROGRAMS]
    found.insert(0, PAPER, [float(str(one["mpki"])) for one in stated])
    found[CLASS] = [str(one["class"]) for one in stated]
    found[OUR_CLASS] = [class_of(mpki) for mpki in found[HERE]]
    return found


def draw(table: pd.DataFrame) -> Picture:
    """On a logarithmic axis."""
    figure = bars(table[[PAPER, HERE]], "L2 TLB misses /\n1000 instructions")
    (axes,) = figure.axes
    axes.set_yscale("log")
    axes.set_ylim(0.1, 10_000)
    return figure


def measure(table: pd.DataFrame) -> dict[str, Measured]:
    """All ten."""
    same = table.index[table[CLASS] == table[OUR_CLASS]]
    text = f"of the paper's class: {', '.join(same) or 'none'}"
    return {"star.table2.mpki": number(*table[HERE], text=text)}


FIGURE = Figure(
    id="star.table2",
    title="Table II: L2 TLB misses",
    about="Per 1000 instructions of wavefronts (64 lanes, in which MGPUSim counts), alone on an "
    "instance of three slices: each request that misses counts, also if it then waits for a miss "
    "on its page that is under way; *not merged* leaves these out, as MGPUSim's own counter. "
    "Classes are L below 1, M to 100, H above (§III-B).",
    claims=("star.table2.mpki",),
    sweeps=(ALONE_SWEEP,),
    table=table,
    draw=draw,
    measure=measure,
    cell="{:.2f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
