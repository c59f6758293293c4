"""The summary of a run at its end: the answer, first numbers, and where the cycles went."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.cli.node_summary import node_tables
from gpusim.results.answer import answer
from gpusim.results.quantity import (
    HeadlineTable,
    first_names,
    format_quantity,
    full_name,
    headline_rows,
    percent,
)
from gpusim.results.wait_roots import wait_roots

if TYPE_CHECKING:
    from gpusim.results.result import Result

_BAR_WIDTH = 20
_LABEL_WIDTH = 24
"""Letters of a row's label, at least, beside the columns of several applications."""

_APP_WIDTH = 20
"""Letters of an application's name in one line."""

_STATES = 6
"""Rows of the short table of states, at most."""


def print_summary(
    result: Result,
    output: Path | None = None,
    console: Console | None = None,
    *,
    everything: bool = False,
) -> None:
    """Print a result: the answer in a sentence, then tables that fit on a screen.

    Tables have a column an application where there are several.

    Args:
        result: the run.
        output: the file it went to, named at the end.
        console: where to print; stdout if None.
        everything: whether all numbers and states are printed, else those to look at first.
    """
    console = console or stdout_console()
    console.print(Text(answer(result), style="bold"))
    rows = headline_rows(result)
    if not everything:
        rows = evolve(rows, sections={"": _first(rows)})
    run = result.provenance
    console.print(Text(f"{run.machine} · {run.workload} · {run.scale}", style="bold"))
    for table in _fitting(console, lambda apps: _headline(result, rows, apps), rows.apps):
        console.print(table)
    console.print(Text("where the warps' cycles went", style="bold"))
    cycles = result.state_cycles
    most = None if everything else _STATES
    if len(cycles) == 1:
        console.print(_stalls(next(iter(cycles.values())), most))
    else:
        for table in _fitting(
            console, lambda some: _stalls_by_app(cycles, some, most), tuple(cycles)
        ):
            console.print(table)
    for table in node_tables(result) if everything else ():
        console.print(table)
    for state, parts in wait_roots(result):
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
    if not everything:
        where = "--all" if output is None else f"gpusim show {output} --all"
        console.print(Text(f"all {len(result.summary)} numbers: {where}", style="dim"))


def _first(rows: HeadlineTable) -> list[str]:
    """The numbers to look at first, in the order of the whole table."""
    first = first_names(rows.descriptions)
    return [name for names in rows.sections.values() for name in names if name in first]


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
    several = len(rows.apps) > 1
    table = _plain_table(header=several)
    table.add_column("", overflow="fold", min_width=_LABEL_WIDTH if several else None)
    for app in apps:
        table.add_column(_heading(app or "all") if several else "", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if result.intervals:
        table.caption = "in brackets: 95 % intervals of what was sampled; ?: none"
    for section, names in rows.sections.items():
        if section:
            if table.row_count:
                table.add_row()
            table.add_row(Text(section, style="bold"))
        for number in names:
            amounts, unit = _amounts(result, [full_name(app, number) for app in apps])
            if any(amounts) and not (number.endswith("_waits") and not result.summary[number]):
                label = rows.descriptions[number]
                table.add_row(*map(Text, (label, *(text or "–" for text in amounts), unit)))
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


def _stalls(cycles: Mapping[str, int], most: int | None) -> Table:
    """Where the cycles of the only application went, with bars."""
    table = _stall_table(header=False)
    for _ in range(3):
        table.add_column("", justify="right", no_wrap=True)
    table.columns[-1].justify = "left"
    total = sum(cycles.values())
    states = sorted((one for one in cycles if cycles[one]), key=cycles.__getitem__, reverse=True)
    shown, rest = _cut(states, most)
    rows = [(state, cycles[state]) for state in shown]
    if rest:
        rows.append((f"{len(rest)} other states", sum(cycles[state] for state in rest)))
    for label, count in rows:
        bar = "█" * round(count / total * _BAR_WIDTH)
        table.add_row(*map(Text, (label, f"{count:,}", percent(count / total, 1), bar)))
    return table


def _stalls_by_app(
    cycles: Mapping[str, Mapping[str, int]], apps: Sequence[str], most: int | None
) -> Table:
    """Warp-cycles of some applications and their shares; what took most of all comes first."""
    table = _stall_table(header=True)
    for app in apps:
        table.add_column(_heading(app), justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
    totals = {app: max(sum(sums.values()), 1) for app, sums in cycles.items()}
    sums = {state: sum(own[state] for own in cycles.values()) for state in cycles[apps[0]]}
    states = sorted((one for one in sums if sums[one]), key=sums.__getitem__, reverse=True)
    shown, rest = _cut(states, most)
    rows = [(state, [cycles[app][state] for app in apps]) for state in shown]
    if rest:
        others = [sum(cycles[app][state] for state in rest) for app in apps]
        rows.append((f"{len(rest)} other states", others))
    for label, row in rows:
        if any(row):
            shares = (percent(count / totals[app], 1) for app, count in zip(apps, row, strict=True))
            amounts = zip((f"{count:,}" for count in row), shares, strict=True)
            table.add_row(*map(Text, (label, *(text for amount in amounts for text in amount))))
    return table


def _cut(states: Sequence[str], most: int | None) -> tuple[Sequence[str], Sequence[str]]:
    """States that are shown, and those whose cycles are shown as one sum."""
    if most is None or len(states) <= most:
        return states, ()
    return states[: most - 1], states[most - 1 :]


def _stall_table(*, header: bool) -> Table:
    table = _plain_table(header=header)
    table.add_column("", overflow="fold", min_width=len("interconnect"))
    return table


def _plain_table(*, header: bool) -> Table:
    """A table without lines between its rows."""
    return Table(
        box=None,
        padding=(0, 1, 0, 1),
        show_header=header,
        header_style="bold",
    )


def _heading(app: str) -> Text:
    """The name of an application, in lines that do not make its column wide."""
    return Text(fill(app, _APP_WIDTH))
