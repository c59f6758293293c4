"""STAR §III: footprints relative to what the L3 TLB reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.studies.reproduce import Figure, Material, Survey
from gpusim.views.plots.labels import legend_above
from gpusim.workloads.library import Entry
from gpusim.workloads.sizes import size_of

from .common import ENTRIES, LARGER, MODEL, PROGRAMS, WORKLOADS, bars, is_alone, l3_pages, machine

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Picture

REACH = 1 << 26
"""Of the L3 TLB: 1024 entries of 16 pages of 4 KiB."""

FIT = ("ATAX", "BFS", "BICG", "NW")
"""Those that the paper says fit the L3 TLB alone (§IV-B); the others of Table II evict."""

PAPER, AT_PAPER, ARRAYS, TOUCHED = "the paper", "arrays, paper scale", "arrays", "touched"
PAGES = "touched pages"

SINGLE = tuple(name for name, entry in ENTRIES.items() if is_alone(entry))
MIXES = (*WORKLOADS, *(name for names in LARGER.values() for name in names))


def stated(name: str) -> str:
    """What the paper says of a program's footprint."""
    if name not in PROGRAMS:
        return "–"
    return "≤ 1" if name in FIT else "> 1"


def parts(entry: Entry) -> list[str]:
    """Programs of a workload, by their names here."""
    return [str(one.workload).partition("/")[2] for one in entry.table.applications]


def table(material: Material) -> pd.DataFrame:
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


def draw(table: pd.DataFrame) -> Picture:
    """All, and the reach."""
    figure = bars(table[[AT_PAPER, ARRAYS, TOUCHED]], "footprint / reach")
    (axes,) = figure.axes
    axes.axvline(1, color="black", linewidth=0.8, label="reach")
    legend_above(axes)
    return figure


FIGURE = Figure(
    id="star.regime",
    title="Footprints and the reach of the L3 TLB",
    about="Relative to what the L3 TLB reaches: 64 MiB with pages of 4 KiB. *arrays*: "
    "sizes of all arrays, those of a workload's programs added up; *touched*: pages that are "
    "accessed at all. *the paper*: whether it says that a program alone fits (§IV-B). Sizes at "
    "paper scale are those that make the instructions of Table II, or the suites' largest, and "
    "some fit all the same; those at quick scale are parts of them.",
    surveys=(Survey(model=MODEL, workloads=tuple(ENTRIES[name].name for name in SINGLE)),),
    table=table,
    draw=draw,
    cell="{:.2f}",
)

if __name__ == "__main__":
    from gpusim.cli.script import script

    script(FIGURE)
