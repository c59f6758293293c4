"""The summary of a run at its end: the headline numbers, and where the cycles went."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.results.bank_waits import bank_waits
from gpusim.results.quantity import HeadlineTable, format_quantity, full_name, headline_rows

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BAR_WIDTH = 20
_LABEL_WIDTH = 24
"""Letters of a row's label, at least, beside the columns of several applications."""

_APP_WIDTH = 20
"""Letters of an application's name in one line."""


def print_summary(
    result: Result, output: Path | None = None, console: Console | None = None
) -> None:
    """Print a result as tables, with a column an application where there are several.

    Args:
        result: the run.
        output: the file it went to, named at the end.
        console: where to print; stdout if None.
    """
    console = console or stdout_console()
    rows = headline_rows(result)
    for table in _fitting(console, lambda apps: _headline(result, rows, apps), rows.apps):
        console.print(table)
    cycles = result.state_cycles
    if len(cycles) == 1:
        console.print(_stalls(*cycles.values()))
    else:
        for table in _fitting(console, lambda some: _stalls_by_app(cycles, some), tuple(cycles)):
            console.print(table)
    for state, parts in bank_waits(result):
        console.print(Text(f"of {state}: {parts}"))
    if "blame" in result.tables:
        from gpusim.results.blame import answers

        for sentence in answers(result):
            console.print(Text(sentence))
    for warning in result.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print(Text(f"digest {result.digest}"))
    if output is not None:
        console.print(Text(f"written to {output}"))


def _fitting(
    console: Console, make: Callable[[Sequence[str]], Table], apps: Sequence[str]
) -> list[Table]:
    """A table of all applications, or several of some, none of which the console would cut."""
    table = make(apps)
    unbounded = console.options.update(width=sys.maxsize)  # else the console's width is an answer
    if len(apps) == 1 or Measurement.get(console, unbounded, table).minimum <= console.width:
        return [table]
    half = (len(apps) + 1) // 2
    return _fitting(console, make, apps[:half]) + _fitting(console, make, apps[half:])


def _headline(result: Result, rows: HeadlineTable, apps: Sequence[str]) -> Table:
    run = result.provenance
    several = len(rows.apps) > 1
    table = Table(title=f"{run.machine} · {run.workload} · {run.scale}", header_style="bold")
    table.add_column("what", overflow="fold", min_width=_LABEL_WIDTH if several else None)
    for app in apps:
        heading = _heading(app or "all") if several else Text("value")
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    if result.intervals:
        table.caption = "in brackets: 95 % intervals of what was sampled; ?: none"
    for names in rows.sections.values():
        for number in names:
            amounts, unit = _amounts(result, [full_name(app, number) for app in apps])
            if any(amounts):
                label = rows.descriptions[number]
                table.add_row(*map(Text, (label, *(text or "–" for text in amounts), unit)))
        table.add_section()
    return table


def _amounts(result: Result, names: Sequence[str]) -> tuple[list[str], str]:
    """Numbers for the eye, empty where there is none, and their unit.

    Estimates have their interval behind them, or a ``?`` where it is not known.  Units that differ,
    as those of a short and of a long time do, stand beside the numbers.
    """
    spans = result.intervals
    found = [_number_cells(result, name, spans) for name in names]
    unit, *others = dict.fromkeys(unit for text, unit in found if text) or [""]
    if others:
        return [f"{text} {unit}".strip() for text, unit in found], ""
    return [text for text, _ in found], unit


def _number_cells(
    result: Result, name: str, spans: Mapping[str, tuple[float, float]]
) -> tuple[str, str]:
    """A number and its unit; two empty texts if there is none."""
    if name not in result.summary:
        return "", ""
    unit = result.summary_units[name]
    text, shown_unit = format_quantity(result.summary[name], unit)
    if name not in spans:
        return text, shown_unit
    ends = [format_quantity(end, unit) for end in spans[name]]
    if any(np.isnan(spans[name])):
        return f"{text} (?)", shown_unit
    span_text = " … ".join(text if own == shown_unit else f"{text} {own}" for text, own in ends)
    return f"{text} ({span_text})", shown_unit


def _stalls(cycles: Mapping[str, int]) -> Table:
    """Where the cycles of the only application went, with bars."""
    table = _stall_table()
    table.add_column("warp-cycles", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    total = sum(cycles.values())
    for state in sorted(cycles, key=cycles.__getitem__, reverse=True):
        if cycles[state]:
            share = cycles[state] / total
            bar = "█" * round(share * _BAR_WIDTH)
            table.add_row(*map(Text, (state, f"{cycles[state]:,}", _percent(share), bar)))
    return table


def _stalls_by_app(cycles: Mapping[str, Mapping[str, int]], apps: Sequence[str]) -> Table:
    """Warp-cycles of some applications and their shares; what took most of all comes first."""
    table = _stall_table()
    for app in apps:
        table.add_column(_heading(app), justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
    totals = {app: max(sum(sums.values()), 1) for app, sums in cycles.items()}
    states = {state: sum(sums[state] for sums in cycles.values()) for state in cycles[apps[0]]}
    for state in sorted(states, key=states.__getitem__, reverse=True):
        row = [cycles[app][state] for app in apps]
        if any(row):
            shares = (_percent(count / totals[app]) for app, count in zip(apps, row, strict=True))
            amounts = zip((f"{count:,}" for count in row), shares, strict=True)
            table.add_row(*map(Text, (state, *(text for amount in amounts for text in amount))))
    return table


def _stall_table() -> Table:
    table = Table(title="where the warps' cycles went", header_style="bold")
    table.add_column("state", overflow="fold", min_width=len("interconnect"))
    return table


def _heading(app: str) -> Text:
    """The name of an application, in lines that do not make its column wide."""
    return Text(fill(app, _APP_WIDTH))


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
