"""What a run prints at its end: the headline numbers, and where the cycles went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BAR_WIDTH = 30
_PERCENT = 100


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
    console.print(Text(f"digest {result.digest}"))
    if output is not None:
        console.print(Text(f"written to {output}"))


def _headline(result: Result) -> Table:
    run = result.provenance
    title = f"{' + '.join((run.model, *run.variants))} · {run.workload} · {run.scale}"
    table = Table("what", title=title, header_style="bold")
    table.add_column("value", justify="right")
    table.add_column("unit")
    units, descriptions = result.summary_units, result.summary_descriptions
    in_stalls = {f"share_{state}" for state in result.states}
    for name, value in result.summary.items():
        if name.rpartition("/")[2] in in_stalls:
            continue
        label = descriptions[name] or name
        if "/" in name:
            label = f"{name.partition('/')[0]}: {label}"
        table.add_row(Text(label), format_number(value), Text(_unit(units[name])))
    return table


def _stalls(result: Result) -> Table:
    table = Table("application", "state", title="where the warps' cycles went", header_style="bold")
    table.add_column("warp-cycles", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    rows = result.stalls.sort_values(["app", "warp_cycles"], ascending=[True, False], kind="stable")
    for app, state, cycles, share in rows.itertuples(index=False):
        if cycles:
            bar = "█" * round(share * _BAR_WIDTH)
            cells = (str(app), str(state), f"{cycles:,}", f"{share * _PERCENT:.1f} %", bar)
            table.add_row(*map(Text, cells))
    return table


def format_number(value: float) -> str:
    """Whole numbers in full, with thousands separated; others with four significant digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit
