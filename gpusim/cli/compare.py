"""`gpusim compare`: what a change of the machine did to a program."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.opening import opened
from gpusim.cli.options import Everything, Json

if TYPE_CHECKING:
    from rich.table import Table

    from gpusim.results import Comparison, Result

_ALWAYS = ("cycles", "ipc")
"""Headline numbers that are shown even where nothing changed."""

_FEW = 6
"""Rows of the other tables, at most, unless all are asked for."""


def compare(
    a: Annotated[Path, typer.Argument(metavar="A.h5", help="Result of a run.")],
    b: Annotated[Path, typer.Argument(metavar="B.h5", help="Result to compare with it.")],
    everything: Everything = False,
    as_json: Json = False,
) -> None:
    """Show what got faster from A to B, and where the cycles went instead."""
    from gpusim.results import compare as compare_results

    with opened(a, b) as results:
        comparison = compare_results(*results)
        if as_json:
            print(json.dumps(comparison.to_json()))
        else:
            _print(comparison, [_name(result) for result in results], everything=everything)


def _name(result: Result) -> str:
    run = result.provenance
    return f"{run.machine} · {run.workload} · {run.scale} · seed {run.seed} ({result.name})"


def _print(comparison: Comparison, names: list[str], *, everything: bool) -> None:
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    console = stdout_console()
    console.print(Text(comparison.sentence, style="bold"))
    if not comparison.same:
        console.print(Text(comparison.cause.sentence))
    if comparison.warning:
        console.print(Text(f"warning: {comparison.warning}", style="yellow"))
    for letter, name in zip("AB", names, strict=True):
        console.print(Text(f"{letter}: {name}"))
    rows = None if everything else _FEW
    tables = [_config(comparison, rows), _summary(comparison, everything=everything)]
    tables.append(_stalls(comparison, rows))
    if everything:
        tables.append(_counters(comparison))
    for table in tables:
        if table.row_count:
            console.print(table)
    if not everything and not comparison.same:
        console.print(Text("all numbers that differ, and counters: --all", style="dim"))


def _config(comparison: Comparison, rows: int | None) -> Table:
    table = _table("what differs", ("key", "A", "B"), ())
    for key, *values in comparison.config[:rows].to_numpy().tolist():
        _add(table, key, *("–" if value is None else str(value) for value in values))
    return _with_rest(table, len(comparison.config))


def _summary(comparison: Comparison, *, everything: bool) -> Table:
    from gpusim.results.quantity import MOST_FIRST, first_names

    table = _table("headline numbers", ("what",), ("A", "B", "unit", "change"))
    shown, last = _shown(comparison), ""
    if not everything:
        first = first_names(dict.fromkeys(number for _, number, _ in shown))
        shown = [one for one in shown if one[1] in first][:MOST_FIRST]
    for app, _, row in shown:
        if app != last:
            table.add_section()
        last = app
        label = f"{app}: {row['description']}" if app else row["description"]
        change = _change(row["a"], row["b"], row["unit"])
        _add(table, label, *_amounts(row["a"], row["b"], row["unit"]), change)
    return table


def _shown(comparison: Comparison) -> list[tuple[str, str, dict[Hashable, Any]]]:
    """Headline numbers that changed and are in no other table: application, name, row."""
    found = []
    for row in comparison.summary.rename_axis("name").reset_index().to_dict("records"):
        app, _, number = row["name"].rpartition("/")
        changed = row["a"] != row["b"]  # NaN differs from everything
        in_stalls = number.startswith("share_") and number != "share_translation"
        if number in _ALWAYS or (changed and not in_stalls):
            found.append((app, number, row))
    return found


def _stalls(comparison: Comparison, rows: int | None) -> Table:
    from gpusim.results.quantity import percent

    several = comparison.stalls.app.nunique() > 1
    names = ("application", "state") if several else ("state",)
    table = _table("where the warps' cycles went", names, ("A", "B", "change", "of A", "of B"))
    changed = comparison.stalls[comparison.stalls.change != 0]
    for row in changed[:rows].to_dict("records"):
        where = (row["app"], row["state"]) if several else (row["state"],)
        shares = (percent(row[share], 1) for share in ("share_a", "share_b"))
        _add(table, *where, f"{row['a']:,}", f"{row['b']:,}", f"{row['change']:+,}", *shares)
    return _with_rest(table, len(changed))


def _counters(comparison: Comparison) -> Table:
    from gpusim.results.quantity import format_change

    names = ("component", "counter")
    table = _table("counters that moved most", names, ("A", "B", "change", ""))
    changed = comparison.counters[comparison.counters.a != comparison.counters.b]
    for row in changed.to_dict("records"):
        *amounts, _ = _amounts(row["a"], row["b"], "1")
        change = "–" if math.isnan(row["change"]) else f"{row['change']:+,.0f}"
        relative = format_change(row["a"], row["b"])
        _add(table, row["component"], row["counter"], *amounts, change, relative)
    return table


def _table(title: str, names: Sequence[str], numbers: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, *cells: str) -> None:
    from rich.text import Text

    table.add_row(*map(Text, cells))


def _with_rest(table: Table, total: int) -> Table:
    if total > table.row_count:
        table.caption = f"and {total - table.row_count:,} more"
    return table


def _amounts(a: float, b: float, unit: str) -> tuple[str, str, str]:
    """Two numbers and their unit, which goes with each number where they are shown in two."""
    from gpusim.results.quantity import format_quantity

    (text_a, unit_a), (text_b, unit_b) = (
        ("–", "") if math.isnan(value) else format_quantity(value, unit) for value in (a, b)
    )
    if unit_a and unit_b and unit_a != unit_b:
        return f"{text_a} {unit_a}", f"{text_b} {unit_b}", ""
    return text_a, text_b, unit_a or unit_b


def _change(a: float, b: float, unit: str) -> str:
    """Fractions in percentage points, everything else in relation to A."""
    from gpusim.core.metrics import FRACTION
    from gpusim.results.quantity import format_change

    if unit == FRACTION and a != b and not math.isnan(b - a):
        return f"{(b - a) * 100:+.1f} pp"
    return format_change(a, b)
