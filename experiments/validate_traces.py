"""Holds the machine against MGPUSim: replays its traces on r9-nano and compares what both count.

::

    gpusim study validate-traces --reference DIR [--pace recorded|free] [--json] [-j N]

`DIR` is a folder of ``NAME.npz`` (a table of transactions) with ``NAME.json`` (MGPUSim's counters
of that very run).  Wavefronts issue at the times of the trace, unless their pace is free.  Each
count must be within 10 % of MGPUSim's, or the difference must be what named differences of the two
machines make of this trace; exit status 1 says that one is not.  A trace that cannot be compared is
named with the reason, and the others go on; status 2 says so.  `docs/validation.md` explains the
differences.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import asdict
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from experiments.counts import positive
from experiments.each_trace import Failure, each
from experiments.trace_comparison import Comparison, Row, compare
from gpusim.core.errors import UserError
from gpusim.traces.options import FREE, RECORDED


def compare_all(
    folder: Path, pace: str, processes: int, console: Console
) -> tuple[list[Comparison], list[Failure]]:
    """All traces of a folder: those that could be compared, and those that could not.

    Raises:
        UserError: there is no trace.
    """
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise UserError(
            f"{folder}: there is no NAME.npz; --reference takes a folder of traces of MGPUSim"
        )
    work = partial(compare, pace=pace)
    found = list(
        track(
            each(work, paths, processes),
            "replaying traces",
            len(paths),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
    )
    return (
        [one for one in found if isinstance(one, Comparison)],
        [one for one in found if isinstance(one, Failure)],
    )


def table_of(comparisons: Sequence[Comparison]) -> Table:
    """All counts as a table."""
    table = Table(title="Replayed traces against MGPUSim; hits include merged misses")
    table.add_column("trace", no_wrap=True)
    table.add_column("count", no_wrap=True)
    for heading in ("ours", "MGPUSim", "diff %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("differences")
    for comparison in comparisons:
        for row in comparison.rows:
            verdict = row.verdict
            table.add_row(
                comparison.trace,
                row.name,
                f"{row.ours:,.0f}",
                f"{row.reference:,.0f}",
                f"{100 * row.relative:+.1f}",
                f"[red]{verdict}[/red]" if verdict == "OUT" else verdict,
                "" if verdict == "ok" else _reason(row),
            )
        ratio = comparison.cycles / comparison.reference_cycles - 1
        table.add_row(
            comparison.trace,
            "cycles",
            f"{comparison.cycles:,}",
            f"{comparison.reference_cycles:,}",
            f"{100 * ratio:+.1f}",
            "info",
        )
        table.add_section()
    return table


def _reason(row: Row) -> str:
    parts = [
        f"{one.name} {one.low:+,.0f}" + ("" if one.low == one.high else f" to {one.high:+,.0f}")
        for one in row.differences
    ]
    return "; ".join(parts)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Everything about one trace."""
    return {
        **asdict(comparison),
        "passed": comparison.passed,
        "rows": [{**asdict(row), "verdict": row.verdict} for row in comparison.rows],
    }


def report(found: Sequence[Comparison], failures: Sequence[Failure]) -> dict[str, Any]:
    """Everything as one JSON object."""
    return {
        "passed": not failures and all(comparison.passed for comparison in found),
        "failed": [asdict(failure) for failure in failures],
        "traces": [to_json(comparison) for comparison in found],
    }


def print_tables(found: Sequence[Comparison], failures: Sequence[Failure]) -> None:
    """Everything as tables."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table_of(found))
    verdicts = [row.verdict for comparison in found for row in comparison.rows]
    for verdict in ("ok", "explained", "OUT"):
        console.print(f"{verdict}: {verdicts.count(verdict)} of {len(verdicts)}")
    for failure in failures:
        console.print(f"[red]failed[/red]: {escape(failure.trace)}: {escape(failure.message)}")


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="gpusim study validate-traces",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--reference", type=Path, required=True, help="folder of traces")
    parser.add_argument(
        "--pace",
        choices=(RECORDED, FREE),
        default=RECORDED,
        help="whose turns: those of the trace, or those that our machine gives its wavefronts",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, no table")
    parser.add_argument(
        "-j", "--processes", type=positive, default=os.cpu_count() or 1, help="traces at once"
    )
    options = parser.parse_args(arguments)
    try:
        found, failures = compare_all(
            options.reference, options.pace, options.processes, Console(stderr=True)
        )
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for failure in failures:
        print(f"error: {failure.trace}: {failure.message}", file=sys.stderr)
    if options.json:
        print(json.dumps(report(found, failures), indent=1))
    else:
        print_tables(found, failures)
    if failures:
        return 2
    return int(not all(comparison.passed for comparison in found))


if __name__ == "__main__":
    sys.exit(main())
