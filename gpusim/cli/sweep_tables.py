"""Tables that `gpusim sweep` prints: results, failures, what would be run, progress of sweeps."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.cli.how_far import clock_text
from gpusim.results.quantity import format_quantity

if TYPE_CHECKING:
    from gpusim.studies.sweep.results import SweepResults
    from gpusim.studies.sweep.status import LookAhead, SweepStatus

_ROWS = 60
"""Rows of a table of results, at most: all of it is in its file."""

_NUMBERS = ("cycles", "ipc", "seconds")


def print_results(results: SweepResults, picture: Path | None, as_json: bool) -> None:
    """The combinations with their headline numbers, and what failed."""
    if as_json:
        print(json.dumps(_results_json(results, picture)))
        return
    console = stdout_console()
    several = results.table["seed"].nunique() > 1
    console.print(_bands(results) if several else _results(results))
    if results.failures:
        console.print(_failures(results))
        console.print(Text("the same command with --retry-failed tries them once more"))
    bands = results.folder / f"{results.name}.bands.parquet" if several else None
    for path in (results.folder / f"{results.name}.parquet", bands, picture):
        if path is not None:
            console.print(Text(f"written to {path}"))


def print_refusals(refused: Mapping[tuple[str, str], str]) -> None:
    """Pairs of variants that do not make one machine, and why."""
    if not refused:
        return
    table = Table(title="not one machine", header_style="bold")
    for name in ("model", "pair", "why"):
        table.add_column(name, overflow="fold")
    for (model, pair), reason in refused.items():
        table.add_row(Text(model), Text(pair), Text(reason))
    stdout_console().print(table)


def print_look_ahead(ahead: LookAhead, jobs: int | None, as_json: bool) -> None:
    """What would be run."""
    if as_json:
        print(json.dumps(attrs.asdict(ahead)))
        return
    console = stdout_console()
    for label in ahead.todo[:_ROWS]:
        console.print(Text(label))
    _tell_more(console, len(ahead.todo))
    took = "nothing like them has been run here yet, so their time cannot be estimated"
    if ahead.seconds is not None:
        several = f", {clock_text(ahead.seconds / jobs)} on {jobs}" if jobs else ""
        took = f"by earlier runs, about {clock_text(ahead.seconds)} on one core{several}"
    if not ahead.todo:
        took = "nothing is left to do"
    retry = " (--retry-failed tries them once more)" if ahead.failed else ""
    console.print(
        Text(
            f"{ahead.combinations} combinations need {ahead.runs} runs: {ahead.done} are there, "
            f"{ahead.failed} failed before{retry}, {len(ahead.todo)} to run; {took}",
            style="bold",
        )
    )


def print_status(sweeps: Sequence[SweepStatus], as_json: bool) -> None:
    """How far each sweep of a folder is."""
    if as_json:
        print(json.dumps([attrs.asdict(one) for one in sweeps]))
        return
    if not sweeps:
        stdout_console().print(Text("no sweep has been run here"))
        return
    table = Table(header_style="bold")
    table.add_column("sweep")
    for name in ("runs", "done", "failed", "running", "missing", "time of the done"):
        table.add_column(name, justify="right")
    table.add_column("why they failed")
    for one in sweeps:
        counts = (one.runs, one.done, one.failed, one.running, one.missing)
        causes = ", ".join(f"{count} × {cause}" for cause, count in one.causes.items())
        cells = (one.name, *map(str, counts), clock_text(one.seconds), causes)
        table.add_row(*map(Text, cells))
    stdout_console().print(table)


def _results(results: SweepResults) -> Table:
    rows = results.table
    names = results.coordinates or ["workload"]
    numbers = [name for name in _NUMBERS if name in rows]
    units = rows.attrs["units"]
    title = f"{results.name}: {len(rows)} combinations, {rows['key'].nunique()} runs"
    shown = rows.head(_ROWS).to_dict("records")
    columns = {name: [str(row[name]) for row in shown] for name in names}
    for name in numbers:
        columns |= _number_column(name, [row[name] for row in shown], units[name])
    states = [row["cause"] if row["state"] == "failed" else row["state"] for row in shown]
    if set(states) - {"done"}:
        columns["state"] = states
    table = Table(title=title, header_style="bold")
    for heading in columns:
        number = heading.partition(" ")[0] in numbers
        table.add_column(_heading(heading), justify="right" if number else "left", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    if len(rows) > _ROWS:
        table.caption = f"and {len(rows) - _ROWS} more"
    return table


def _number_column(name: str, values: Sequence[float], unit: str) -> dict[str, list[str]]:
    """A column by its heading, which has the unit if all numbers have the same one."""
    found = [("–", "") if math.isnan(value) else format_quantity(value, unit) for value in values]
    several = {own for _, own in found if own}
    if len(several) > 1:
        return {name: [" ".join(one).strip() for one in found]}
    (own,) = several or {""}
    heading = name if own in ("", name) else f"{name} ({own})"
    return {heading: [text for text, _ in found]}


_HEADING = 14
"""Letters of a heading beyond which it is broken at its dots."""


def _heading(name: str) -> Text:
    """A heading in lines: keys are broken at their dots, so that no word is."""
    if len(name) <= _HEADING or "." not in name:
        return Text(name)
    *tables, key = name.split(".")
    return Text("".join(f"{table}." for table in tables) + f"\n{key}")


def _bands(results: SweepResults) -> Table:
    """Means and intervals over the seeds."""
    rows, units = results.table, results.table.attrs["units"]
    numbers = [name for name in _NUMBERS if name in rows and name != "seconds"]
    found = results.bands(numbers)
    names = [name for name in results.coordinates if name != "seed"]
    runs, seeds = rows["key"].nunique(), rows["seed"].nunique()
    title = f"{results.name}: {runs} runs, means over {seeds} seeds"
    table = Table(title=title, header_style="bold")
    for name in (*names, "number"):
        table.add_column(_heading(name), overflow="fold")
    for name in ("mean", "95 % interval", "runs"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.head(_ROWS).to_dict("records"):
        unit = units[row["number"]]
        mean, low, high = (_number(row[one], unit) for one in ("mean", "low", "high"))
        where = (*(str(row[name]) for name in names), row["number"])
        table.add_row(*map(Text, (*where, mean, f"{low} … {high}", str(row["runs"]))))
    if len(found) > _ROWS:
        table.caption = f"and {len(found) - _ROWS} more"
    return table


def _number(value: float, unit: str) -> str:
    return "–" if math.isnan(value) else " ".join(format_quantity(value, unit)).strip()


def _failures(results: SweepResults) -> Table:
    table = Table(title="failed", header_style="bold")
    for name in ("run", "cause", "message"):
        table.add_column(name, overflow="fold")
    table.add_column("details", no_wrap=True)
    for failed in results.failures[:_ROWS]:
        first = failed.failure.message.partition("\n")[0]
        details = f"failures/{failed.key}.json"
        table.add_row(*map(Text, (failed.label, failed.failure.cause, first, details)))
    return table


def _tell_more(console: Console, count: int) -> None:
    if count > _ROWS:
        console.print(Text(f"and {count - _ROWS} more"))


def _results_json(results: SweepResults, picture: Path | None) -> dict[str, object]:
    rows = json.loads(results.table.to_json(orient="records"))
    return {
        "name": results.name,
        "folder": str(results.folder),
        "units": results.table.attrs["units"],
        "combinations": rows,
        "failures": [attrs.asdict(failed) for failed in results.failures],
        "picture": None if picture is None else str(picture),
    }
