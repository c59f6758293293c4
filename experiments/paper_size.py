"""Programs of the papers' own size, in windows: how long they take, and what is known then.

``gpusim study paper-size --graph FILE`` runs PageRank on a graph (without it, on one that is made),
a matrix product and a stencil, whole programs in windows, and prints their estimates; with
``--doc`` it writes the table into docs/sampling.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from experiments.marked import grid, tell
from experiments.run_shown import run_shown
from experiments.sampling import SAMPLE, timed_part
from gpusim.results.result import Result
from gpusim.studies.scripts import FOLDER
from gpusim.studies.sweep.spec import Sweep

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

MODEL, SCALE = "kepler-uvm", "paper"
SHOWN = ("cycles", "tlb_L1_hit_rate", "tlb_L2_hit_rate", "walks", "l2_hit_rate", "dram_reads")
HEAD = (
    "program",
    "warp instructions",
    "timed",
    "seconds",
    *(f"`{name}`" for name in SHOWN),
    "numbers with an interval",
)


@frozen
class Large:
    """A program.

    Attributes:
        workload: its name.
        plan: its windows; "": those that it has at this scale.
    """

    workload: str
    plan: str = ""


GRAPH = "pagerank"
PROGRAMS = (
    Large(GRAPH),
    Large("gemm"),
    Large("3dconv", "windows=30,length=launch"),
)


def sweep_of(large: Large, graph: Path | None) -> Sweep:
    """The run of a program."""
    settings: dict[str, Any] = {SAMPLE: [large.plan]} if large.plan else {}
    if graph is not None and large.workload == GRAPH:
        settings["workload.graph"] = [str(graph)]
    return Sweep(
        name=f"paper-size-{large.workload}",
        title=f"{large.workload}, of the papers' size",
        models=MODEL,
        workloads=large.workload,
        scale=SCALE,
        set=settings,
    )


def row(name: str, result: Result) -> Iterator[str]:
    """What is known of a program."""
    facts = result.estimates.set_index("name").to_dict("index")
    yield f"`{name}`"
    yield f"{result.summary['instructions']:,}"
    yield f"{timed_part(result):.1%}"
    yield f"{result.wall.seconds:.0f}"
    for number in SHOWN:
        one = facts[number]
        half = one["high"] - one["value"]
        yield f"{one['value']:,.4g} " + ("(?)" if one["refused"] else f"± {half:,.2g}")
    yield f"{sum(not one['refused'] for one in facts.values())} of {len(facts)}"


def main() -> None:
    """Run, then print or write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--doc", type=Path, help="page whose table is replaced")
    parser.add_argument("--graph", type=Path, help="file of the graph of PageRank")
    parser.add_argument(
        "--output",
        type=Path,
        default=FOLDER / "paper-size",
        help="folder of runs, which is continued (default: %(default)s)",
    )
    parser.add_argument("--only", nargs="*", help="programs; default: all")
    arguments = parser.parse_args()
    found = []
    for large in PROGRAMS:
        if arguments.only and large.workload not in arguments.only:
            continue
        sweep = sweep_of(large, arguments.graph)
        results = run_shown(sweep, arguments.output, jobs=1)
        with results.open(results.table.key.iloc[0]) as result:
            found.append(list(row(large.workload, result)))
    tell(arguments.doc, "programs of the papers' size", grid(HEAD, found))


if __name__ == "__main__":
    main()
