"""Measure how large the shipped workloads are, and keep it in ``workloads/sizes.csv``.

``gpusim study workload-sizes [NAME ...] [--scale SCALE ...]``

The programs are executed without a machine.  At paper scale, programs whose addresses do not
depend on their data are extrapolated from a part of the thread blocks of each kernel; the others
are run until the time is over (then their transactions stay uncounted).
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product

import numpy as np
from rich.live import Live
from rich.table import Table

from gpusim.core.warp_program import Application, LaneChunk, Launch
from gpusim.workloads.library import (
    Entry,
    find_workload,
    paper_names,
    paper_workloads,
    workload_names,
)
from gpusim.workloads.sizes import Size, read_sizes, sizes_file, write_sizes
from gpusim.workloads.tables import SCALES
from gpusim.workloads.workload import load_workload

MAINTENANCE = True
"""A study of gpusim itself: ``gpusim list maintenance`` has it."""

LINE_BYTES = 128
WARP_SIZE = 32
BLOCKS_PER_LAUNCH = 32
"""Thread blocks of a launch that are run when a program is extrapolated."""
ENOUGH_BLOCKS = 512
"""Thread blocks of one kernel after which no more are run."""
DATA_DEPENDENT = (
    "graph gather",
    "tree gather",
    "clustering scan",
    "sparse matrix",
    "histogram scatter",
)


def measured_entries() -> Iterator[Entry]:
    """The workloads that are measured: those of one file, and those of papers with own sizes."""
    for name in workload_names():
        yield find_workload(name)
    for paper in paper_names():
        for entry in paper_workloads(paper):
            if any(has_own_sizes(entry, index) for index in range(len(entry.table.applications))):
                yield entry


def has_own_sizes(entry: Entry, index: int) -> bool:
    """Whether an application changes the parameters of the workload that it refers to."""
    application = entry.table.applications[index]
    return any(getattr(application, scale) is not None for scale in SCALES)


def transactions_of(chunk: LaneChunk) -> int:
    """Distinct lines of each warp instruction, summed."""
    lines = np.sort(chunk.address // LINE_BYTES, axis=2)
    new = np.diff(lines, axis=2, prepend=-1) != 0
    return int((new & (lines >= 0)).sum())


def count_all(application: Application, seconds: float) -> int | None:
    """Transactions of a whole run; None if it takes too long."""
    begin = time.monotonic()
    total = 0
    for launch in application.launches():
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, WARP_SIZE):
                total += transactions_of(chunk)
            if time.monotonic() - begin > seconds:
                return None
    return total


def extrapolate(application: Application) -> int:
    """Transactions of a whole run, from some blocks of each kernel."""
    blocks: dict[str, int] = defaultdict(int)
    run: dict[str, int] = defaultdict(int)
    found: dict[str, int] = defaultdict(int)
    for launch in application.launches():
        blocks[launch.name] += launch.blocks
        if run[launch.name] < ENOUGH_BLOCKS:
            chosen = _spread(launch)
            run[launch.name] += len(chosen)
            for block in chosen:
                for chunk in launch.run_block(block, WARP_SIZE):
                    found[launch.name] += transactions_of(chunk)
    return sum(round(found[name] * blocks[name] / run[name]) for name in blocks if run[name])


def _spread(launch: Launch) -> list[int]:
    count = min(launch.blocks, BLOCKS_PER_LAUNCH)
    return [index * launch.blocks // count for index in range(count)]


def measure(entry: Entry, scale: str, seconds: float) -> Size:
    """The size of a workload at a scale."""
    regular = scale == "paper" and pattern_of(entry) not in DATA_DEPENDENT
    footprint = 0
    total: int | None = 0
    for spec in load_workload(entry.name, scale).applications:
        application = spec.start()
        footprint += sum(buffer.bytes for buffer in application.buffers)
        count = extrapolate(application) if regular else count_all(application, seconds)
        total = None if count is None or total is None else total + count
    return Size(footprint, total, regular)


def pattern_of(entry: Entry) -> str:
    """The class of access pattern: its own, or that of the workload it refers to."""
    application = entry.table.applications[0]
    if entry.table.pattern or application.workload is None:
        return entry.table.pattern
    return pattern_of(find_workload(application.workload))


def main() -> None:
    """Measure, tell and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="workloads; all if none is given")
    parser.add_argument("--scale", action="append", choices=SCALES, help="all if none is given")
    parser.add_argument("--seconds", type=float, default=300.0, help="limit for a paper-scale run")
    arguments = parser.parse_args()
    sizes = dict(read_sizes(sizes_file()))
    table = Table("workload", "scale", "MiB", "transactions", "s")
    chosen = [e for e in measured_entries() if not arguments.names or e.name in arguments.names]
    with Live(table, auto_refresh=False, vertical_overflow="visible") as live:
        for entry, scale in product(chosen, arguments.scale or SCALES):
            begin = time.monotonic()
            size = measure(entry, scale, arguments.seconds if scale == "paper" else float("inf"))
            sizes[entry.name, scale] = size
            write_sizes(sizes_file(), sizes)
            table.add_row(
                entry.name,
                scale,
                f"{size.footprint / 2**20:.3g}",
                "" if size.transactions is None else f"{size.transactions:,}",
                f"{time.monotonic() - begin:.1f}",
            )
            live.refresh()


if __name__ == "__main__":
    main()
