"""TLBs without a clock beside the simulator: twelve programs on four designs.

``gpusim study untimed-agreement [NAME ...] [--scale SCALE]``: lookups and misses of both levels of
TLBs as `characterize_tlbs` counts them, all designs in one execution, and
as each of four runs of the simulator does, with the CPU time of both.

The machine has one SM in which every access takes the same time (`ORDERLY`), so that warps come in
the order of the model without a clock: what differs beyond that is a fault of one of the two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

from attrs import frozen
from rich.console import Console
from rich.progress import track
from rich.table import Table

import gpusim
from gpusim.config.load import LoadedModel
from gpusim.studies.characterize import Design, characterize_tlbs
from gpusim.workloads.workload import Workload

MODEL = "kepler-uvm"

PROGRAMS = (
    *("2dconv", "atax", "bfs", "fft", "gemm", "hotspot"),
    *("kmeans", "mvt", "nw", "pagerank", "spmm", "srad"),
)

ORDERLY = {
    "sm.count": "1",
    "sm.max_blocks": "1",
    "sm.schedulers": "1",
    "sm.lsu_interval": "30",
    "sm.lsu_queue": "512",
    "sm.max_loads": "4096",
    "sm.store_credits": "65536",
    "sm.shared_latency": "1 cycles",
    "l1.latency": "1000000 cycles",
    "l1.mshrs": "4096",
    "l1.mshr_merge": "4096",
    "tlb.L1.entries": "16",
    "tlb.L1.merging": "true",
    "tlb.L1.mshrs": "1024",
    "tlb.L2.latency": "1 cycles",
    "tlb.L2.trip": "0 cycles",
    "tlb.L2.ports": "64",
    "walk.latency": "1 cycles",
    "walk.walkers": "512",
    "l2.latency": "1 cycles",
    "l2.ports": "64",
    "l2.mshrs": "4096",
    "crossbar.ideal": "true",
    "dram.ideal": "true",
    "dram.ideal_latency": "1 cycles",
    "dram.trip": "0 cycles",
    "watchdog": "4000000000 cycles",
}
"""One SM; a fill comes before the next lookup."""

SMALL = {"tlb.L2.entries": "64", "tlb.L2.ways": "8"}
DESIGNS = {
    "base": ((), {}),
    "small": ((), SMALL),
    "star": (("star",), {"tlb.L2.entries": "8", "tlb.L2.ways": "4"}),
    "compression": (("compression",), SMALL),
}
"""Recipes and settings of the L2 TLB behind an L1 TLB of 16 entries."""

Level = tuple[int, int]
"""Lookups of a level, and misses that no other miss took along."""


@frozen
class Agreement:
    """A program on one design.

    Attributes:
        design: its name in `DESIGNS`.
        untimed, timed: of the L1 TLB and the L2 TLB.
        seconds: CPU time of the run of the simulator.
    """

    design: str
    untimed: tuple[Level, ...]
    timed: tuple[Level, ...]
    seconds: float

    @property
    def error(self) -> float:
        """The largest difference of misses of a level, as a share of those of the simulator."""
        return max(
            abs(mine[1] - its[1]) / max(its[1], 1)
            for mine, its in zip(self.untimed, self.timed, strict=True)
        )


def designs() -> list[Design]:
    """The four designs."""
    return [
        Design(name, gpusim.load_model(MODEL, variants, {**ORDERLY, **own}))
        for name, (variants, own) in DESIGNS.items()
    ]


def in_simulator(model: LoadedModel, workload: Workload) -> tuple[Level, ...]:
    """What a run counts."""
    counters = gpusim.simulate(model, workload).counters
    found = []
    for level in model.config.tlb:
        mine = counters[counters["component"].astype(str) == f"tlb/{level}"]
        totals = mine.groupby("counter")["value"].sum()
        found.append((int(totals["lookups"]), int(totals["misses"] - totals["merged"])))
    return tuple(found)


def agreements(workload: Workload) -> tuple[float, list[Agreement]]:
    """CPU time without a clock, and all designs."""
    chosen = designs()
    begin = time.process_time()
    counted = characterize_tlbs(workload, chosen)
    seconds = time.process_time() - begin
    found = []
    for design, counts in zip(chosen, counted.designs, strict=True):
        begin = time.process_time()
        timed = in_simulator(design.model, workload)
        untimed = tuple((one.total.lookups, one.total.misses) for one in counts.levels)
        found.append(Agreement(design.name, untimed, timed, time.process_time() - begin))
    return seconds, found


def rows(names: Sequence[str], scale: str) -> Iterator[tuple[str, ...]]:
    """A row of the table for each program."""
    for name in track(names, "programs", console=Console(stderr=True)):
        seconds, found = agreements(gpusim.load_workload(name, scale))
        simulated = sum(one.seconds for one in found)
        yield (
            name,
            f"{found[0].timed[0][0]:,}",
            *(f"{one.timed[-1][1]:,} {one.error:.2%}" for one in found),
            f"{seconds:.1f}",
            f"{simulated:.1f}",
            f"{simulated / seconds:.0f}",
        )


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(PROGRAMS))
    parser.add_argument("--scale", default="smoke", choices=("smoke", "quick"))
    arguments = parser.parse_args(argv)
    table = Table(
        title=f"Walks of the simulator, and how far misses without a clock are from its ({MODEL})"
    )
    for title in ("program", "lookups", *DESIGNS, "s without", "s with a clock", "times"):
        table.add_column(title, justify="left" if title == "program" else "right")
    for row in rows(arguments.names, arguments.scale):
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
