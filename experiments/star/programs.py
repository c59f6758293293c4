"""STAR's programs: footprints relative to what the L3 TLB reaches, and L2 TLB misses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import (
    Bars,
    Figure,
    Material,
    Measured,
    Survey,
    counted,
    figure,
    number,
)
from gpusim.studies.reproduce.programs import is_program
from gpusim.studies.sweep.point import BASELINE
from gpusim.views.plots.labels import legend_above
from gpusim.workloads.library import Entry
from gpusim.workloads.sizes import size_of

from .common import (
    ALONE_SWEEP,
    BASE,
    ENTRIES,
    LARGER,
    MODEL,
    PROGRAMS,
    WORKLOADS,
    l3_pages,
    machine,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

    from gpusim.results.result import Result

REACH = 1 << 26
"""Reach of the L3 TLB: 1024 entries of 16 pages of 4 KiB."""

FIT = ("ATAX", "BFS", "BICG", "NW")
"""Applications that fit the L3 TLB alone (§IV-B); the others of Table II evict."""

PAPER, AT_PAPER, ARRAYS, TOUCHED = "the paper", "arrays, paper scale", "arrays", "touched"
PAGES = "touched pages"

SINGLE = tuple(name for name, entry in ENTRIES.items() if is_program(entry))
MIXES = (*WORKLOADS, *(name for names in LARGER.values() for name in names))


def stated(name: str) -> str:
    """What the paper says of a program's footprint."""
    if name not in PROGRAMS:
        return "–"
    return "≤ 1" if name in FIT else "> 1"


def parts(entry: Entry) -> list[str]:
    """Programs of a workload, by their names here."""
    return [str(one.workload).partition("/")[2] for one in entry.table.applications]


def footprints(material: Material) -> pd.DataFrame:
    """Sizes relative to the reach, of each program and, summed up, of each workload."""
    import pandas as pd

    (found,) = material.surveys
    page = machine(material).memory.page
    held = l3_pages(material)

    def row(programs: list[str]) -> list[float]:
        paper = [size_of(ENTRIES[name], "paper") for name in programs]
        surveys = [found[ENTRIES[name].name] for name in programs]
        pages = sum(one.pages for one in surveys)
        arrays = sum(one.array_bytes for one in surveys)
        at_paper = sum(one.footprint if one else float("nan") for one in paper)
        return [at_paper / REACH, arrays / (held * page), pages / held, float(pages)]

    rows = {name: row([name]) for name in SINGLE}
    rows |= {name: row(parts(ENTRIES[name])) for name in MIXES}
    sizes = pd.DataFrame.from_dict(rows, orient="index", columns=[AT_PAPER, ARRAYS, TOUCHED, PAGES])
    sizes[PAGES] = sizes[PAGES].astype(int)
    sizes.insert(0, PAPER, [stated(name) for name in sizes.index])
    return sizes.rename_axis("program")


def draw_footprints(table: pd.DataFrame) -> Picture:
    """All, and the reach."""
    figure = Bars("footprint / reach")(table[[AT_PAPER, ARRAYS, TOUCHED]])
    (axes,) = figure.axes
    axes.axvline(1, color="black", linewidth=0.8, label="reach")
    legend_above(axes)
    return figure


REGIME = Figure(
    id="star.regime",
    title="Footprints and the reach of the L3 TLB",
    about="Relative to what the L3 TLB reaches: 64 MiB with pages of 4 KiB. *arrays*: "
    "sizes of all arrays, those of a workload's programs added up; *touched*: pages that are "
    "accessed at all. *the paper*: whether it says that a program alone fits (§IV-B). Sizes at "
    "paper scale are those that make the instructions of Table II, or the suites' largest, and "
    "some fit all the same; those at quick scale are parts of them.",
    surveys=(Survey(model=MODEL, workloads=tuple(ENTRIES[name].name for name in SINGLE)),),
    table=footprints,
    draw=draw_footprints,
    cell="{:.2f}",
)

HERE, CLASS, OUR_CLASS = "here", "class", "class here"
FIRST = "here, not merged"


def class_of(mpki: float) -> str:
    """L, M or H (§III-B)."""
    return "L" if mpki < 1 else "M" if mpki <= 100 else "H"


def first_share(result: Result) -> float:
    """Part of the L2 TLB's misses that do not wait for one that is under way."""
    counts = counted(result, "tlb/L2")
    return 1 - counts["merged"] / counts["misses"] if counts["misses"] else 1.0


def misses(material: Material) -> pd.DataFrame:
    """L2 TLB misses per 1000 instructions, alone on three slices."""
    found = material.numbers("tlb_L2_mpki", PROGRAMS, [BASE]).rename(columns={BASE: HERE})
    first = material.read(first_share, PROGRAMS, {"variant": BASELINE})
    found[FIRST] = [found[HERE][name] * first[name] for name in PROGRAMS]
    stated = [ENTRIES[name].table.stated for name in PROGRAMS]
    found.insert(0, PAPER, [float(str(one["mpki"])) for one in stated])
    found[CLASS] = [str(one["class"]) for one in stated]
    found[OUR_CLASS] = [class_of(mpki) for mpki in found[HERE]]
    return found


def draw_misses(table: pd.DataFrame) -> Picture:
    """On a logarithmic axis."""
    figure = Bars("L2 TLB misses /\n1000 instructions")(table[[PAPER, HERE]])
    (axes,) = figure.axes
    axes.set_yscale("log")
    axes.set_ylim(0.1, 10_000)
    return figure


@figure(
    id="star.table2",
    title="Table II: L2 TLB misses",
    about="Per 1000 instructions of wavefronts (64 lanes, in which MGPUSim counts), alone on an "
    "instance of three slices: each request that misses counts, also if it then waits for a miss "
    "on its page that is under way; *not merged* leaves these out, as MGPUSim's own counter. "
    "Classes are L below 1, M to 100, H above (§III-B).",
    sweeps=(ALONE_SWEEP,),
    table=misses,
    draw=draw_misses,
    cell="{:.2f}",
    after="star.regime",
)
def l2_tlb_misses(table: pd.DataFrame) -> dict[str, Measured]:
    """All ten."""
    same = table.index[table[CLASS] == table[OUR_CLASS]]
    text = f"of the paper's class: {', '.join(same) or 'none'}"
    return {"star.table2.mpki": number(*table[HERE], text=text)}
