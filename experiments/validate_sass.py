"""Holds the machine against Accel-Sim: runs its SASS traces and compares what both count.

::

    gpusim study validate-sass --reference DIR [--model M] [--counts FILE] [--json] [-j N]

`DIR` holds folders with a ``kernelslist.g``; those of which FILE (``accelsim/counts.toml`` here)
tells what Accel-Sim counts are run on the model M (rtx3070).  L1 accesses must be equal, L2
accesses within 2 %, L2 hits and DRAM reads within 10 %, all in sectors of 32 bytes.  Exit status 1
says that a count is not, 2 that a trace could not be run; the others are compared all the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.counts import positive
from experiments.each_trace import Failure, each
from experiments.trace_counts import run_counting
from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.warp_program import SECTORS
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.runs.tenants import assign_sms
from gpusim.traces.traceg import KERNELS_LIST
from gpusim.workloads.workload import Workload, load_workload

COUNTS = Path(__file__).with_name("accelsim") / "counts.toml"
TOLERANCES = {"L1 accesses": 0.0, "L2 accesses": 0.02, "L2 hits": 0.10, "DRAM reads": 0.10}
"""Counts that are compared, and the largest difference, relative to Accel-Sim's."""
NOISE = 0.001
"""Share of L2 accesses that hits, misses and reads may differ by, as rates have three digits."""

Figures = dict[str, float]


@frozen
class Row:
    """One count of one trace.

    Attributes:
        name: one of `TOLERANCES`.
        ours, reference: the counts, in sectors.
        slack: the largest difference that is allowed.
    """

    name: str
    ours: float
    reference: float
    slack: float

    @property
    def passed(self) -> bool:
        """Whether they are near enough."""
        return abs(self.ours - self.reference) <= self.slack


@frozen
class Comparison:
    """One trace."""

    trace: str
    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether all counts are near enough."""
        return all(row.passed for row in self.rows)


def reference_figures(stated: Mapping[str, float]) -> Figures:
    """What Accel-Sim counts for a trace."""
    return {
        "L1 accesses": stated["l1_accesses"],
        "L2 accesses": stated["l2_accesses"],
        "L2 hits": stated["l2_accesses"] * (1 - stated["l2_miss_rate"]),
        "DRAM reads": stated["dram_reads"],
    }


def measured_figures(model: LoadedModel, workload: Workload) -> Figures:
    """What our machine counts.

    The L2 cache counts stores that found nothing by request: each is taken for as many sectors as
    stores have on average.  Page-table reads that miss it count, too: Accel-Sim has none.
    """
    machine = Machine(model.config, assign_sms(model, workload), workload.seed)
    sent: Counter[str] = Counter()

    def note(request: MemoryRequest, _issued: int, _answered: int) -> None:
        sectors = (request.sectors & SECTORS).bit_count()
        if request.kind != Kind.LOAD:
            sent["stores"] += 1
            sent["store sectors"] += sectors
        if State.L2 in list(request.trail)[::2]:
            sent["L2"] += sectors

    counted = run_counting(machine, note)
    fetched = counted["l2", "sectors_fetched"]
    claimed = counted["l2", "claimed"] * sent["store sectors"] / max(sent["stores"], 1)
    return {
        "L1 accesses": asked_sectors(model, workload),
        "L2 accesses": sent["L2"],
        "L2 hits": sent["L2"] - fetched - claimed,
        "DRAM reads": fetched,
    }


def asked_sectors(model: LoadedModel, workload: Workload) -> int:
    """Sectors that the coalescer makes of all memory instructions."""
    (spec,) = workload.applications
    config = model.config
    return sum(
        (mask & SECTORS).bit_count()
        for launch in spec.start().launches()
        for block in range(launch.blocks)
        for chunk in launch.run_block(block, config.sm.warp_size)
        for segment in coalesce(chunk, Coalescing(int(config.l1.line)))
        for mask in segment.sectors
    )


def compare(folder: Path, model: str, stated: Mapping[str, Mapping[str, float]]) -> Comparison:
    """Run one trace.

    Raises:
        UserError: the trace or the model is wrong, or its L2 cache has no sectors to count.
    """
    loaded = load_model(model)
    if not loaded.config.l2.sectored:
        raise UserError(f"{model}: l2.sector must be smaller than a line: sectors are compared")
    reference = reference_figures(stated[folder.name])
    ours = measured_figures(loaded, load_workload(str(folder)))
    noise = dict.fromkeys(("L2 hits", "DRAM reads"), NOISE * reference["L2 accesses"])
    return Comparison(
        folder.name,
        tuple(
            Row(
                name,
                ours[name],
                reference[name],
                max(tolerance * reference[name], noise.get(name, 0.0)),
            )
            for name, tolerance in TOLERANCES.items()
        ),
    )


def table_of(found: Sequence[Comparison]) -> Table:
    """All counts as a table."""
    table = Table(title="SASS traces against Accel-Sim, in sectors of 32 bytes")
    for heading in ("trace", "count"):
        table.add_column(heading, no_wrap=True)
    for heading in ("ours", "Accel-Sim", "diff %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for comparison in found:
        for row in comparison.rows:
            ratio = f"{100 * (row.ours / row.reference - 1):+.1f}" if row.reference else ""
            table.add_row(
                comparison.trace,
                row.name,
                f"{row.ours:,.0f}",
                f"{row.reference:,.0f}",
                ratio,
                "ok" if row.passed else "[red]OUT[/red]",
            )
        table.add_section()
    return table


def folders_of(reference: Path, stated: Mapping[str, object]) -> list[Path]:
    """The folders of traces for which there are counts of Accel-Sim.

    Raises:
        UserError: there is none.
    """
    lists = (path.parent for path in sorted(reference.rglob(KERNELS_LIST)))
    if folders := [folder for folder in lists if folder.name in stated]:
        return folders
    raise UserError(
        f"{reference}: there is no folder {' or '.join(sorted(stated))} with a {KERNELS_LIST}"
    )


def read_counts(path: Path) -> dict[str, dict[str, float]]:
    """What Accel-Sim counts, by the name of a trace's folder.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {error}") from error


def report(found: Sequence[Comparison], failures: Sequence[Failure]) -> dict[str, Any]:
    """Everything as one JSON object."""
    return {
        "passed": not failures and all(one.passed for one in found),
        "failed": [asdict(failure) for failure in failures],
        "traces": [{**asdict(one), "passed": one.passed} for one in found],
    }


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="gpusim study validate-sass",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--reference", type=Path, required=True, help="folder of traces")
    parser.add_argument("--model", default="rtx3070", help="name or file (default: rtx3070)")
    parser.add_argument("--counts", type=Path, default=COUNTS, help="what Accel-Sim counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    parser.add_argument("-j", "--processes", type=positive, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    try:
        stated = read_counts(options.counts)
        folders = folders_of(options.reference, stated)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    results = list(
        each(partial(compare, model=options.model, stated=stated), folders, options.processes)
    )
    found = [one for one in results if isinstance(one, Comparison)]
    failures = [one for one in results if isinstance(one, Failure)]
    for failure in failures:
        print(f"error: {failure.trace}: {failure.message}", file=sys.stderr)
    if options.json:
        print(json.dumps(report(found, failures), indent=1))
    else:
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(table_of(found))
        for failure in failures:
            console.print(f"[red]failed[/red]: {escape(failure.trace)}: {escape(failure.message)}")
    return 2 if failures else int(not all(one.passed for one in found))


if __name__ == "__main__":
    sys.exit(main())
