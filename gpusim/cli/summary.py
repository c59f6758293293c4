"""What a run prints at its end: the headline numbers, and where the cycles went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.results.summary import FRACTION

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BAR_WIDTH = 20
_SECTIONS = {
    "tlb_": "translation", "walk": "translation", "l1_": "caches", "l2_": "caches",
    "dram_": "DRAM", "warp_cycles": "warps", "share_": "warps",
}  # fmt: skip
_SCALES = (
    ("Hz", 1e6, "MHz"),
    ("s", 1.0, "s"),
    ("s", 1e-3, "ms"),
    ("s", 1e-6, "µs"),
    ("s", 1e-9, "ns"),
)


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
    title = f"{run.machine} · {run.workload} · {run.scale}"
    table = Table(title=title, header_style="bold")
    table.add_column("what", overflow="fold")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    units, descriptions = result.summary_units, result.summary_descriptions
    in_stalls = {f"share_{state}" for state in result.states}
    section = None
    for name, value in result.summary.items():
        app, _, number = name.rpartition("/")
        if number in in_stalls:
            continue
        if section not in (None, (app, _section(number))):
            table.add_section()
        section = app, _section(number)
        label = f"{app}: {descriptions[name]}" if app else descriptions[name]
        table.add_row(*map(Text, (label, *format_quantity(value, units[name]))))
    return table


def _section(name: str) -> str:
    """Which part of the headline table a number stands in."""
    return next((part for prefix, part in _SECTIONS.items() if name.startswith(prefix)), "program")


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


def format_quantity(value: float, unit: str) -> tuple[str, str]:
    """A number and its unit for the eye.

    Fractions come as percent, seconds and hertz with a prefix, whole numbers in full with
    thousands separated, others with four significant digits.
    """
    if unit == FRACTION:
        return f"{value * 100:.1f}", "%"
    for base, scale, shown in _SCALES:
        if unit == base and abs(value) >= scale:
            return _format(value / scale), shown
    return _format(value), "" if unit == "1" else unit


def _format(value: float) -> str:
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
