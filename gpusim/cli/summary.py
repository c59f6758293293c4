"""What a run prints at its end: the headline numbers, and where the cycles went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.results.quantity import format_quantity, section_of

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BAR_WIDTH = 20


def print_summary(
    result: Result, output: Path | None = None, console: Console | None = None
) -> None:
    """Print a result as tables.

    Args:
        result: the run.
        output: the file it went to, named at the end.
        console: where to print; stdout if None.
    """
    console = console or stdout_console()
    console.print(_headline(result))
    console.print(_stalls(result))
    for warning in result.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print(Text(f"digest {result.digest}"))
    if output is not None:
        console.print(Text(f"written to {output}"))


def _headline(result: Result) -> Table:
    run = result.provenance
    title = f"{run.machine} · {run.workload} · {run.scale}"
    table = Table(title=title, header_style="bold")
    table.add_column("what", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    units, descriptions = result.summary_units, result.summary_descriptions
    in_stalls = {f"share_{state}" for state in result.states}
    sections: dict[tuple[str, str], list[str]] = {}
    for name in result.summary:
        app, _, number = name.rpartition("/")
        if number not in in_stalls:
            sections.setdefault((app, section_of(number)), []).append(name)
    for (app, _), names in sections.items():
        for name in names:
            description = descriptions[name]
            label = f"{app}: {description}" if app else description
            table.add_row(*map(Text, (label, *format_quantity(result.summary[name], units[name]))))
        table.add_section()
    return table


def _stalls(result: Result) -> Table:
    table = Table(title="where the warps' cycles went", header_style="bold")
    table.add_column("application", overflow="fold")
    table.add_column("state", overflow="fold")
    table.add_column("warp-cycles", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    rows = result.stalls.sort_values(["app", "warp_cycles"], ascending=[True, False], kind="stable")
    for app, state, cycles, share in rows.itertuples(index=False):
        if cycles:
            bar = "█" * round(share * _BAR_WIDTH)
            cells = (str(app), str(state), f"{cycles:,}", f"{share:.1%}".replace("%", " %"), bar)
            table.add_row(*map(Text, cells))
    return table
