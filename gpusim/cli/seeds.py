"""`gpusim run --seeds N`: one machine and program, N times, with means and 95 % intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stdout_console
from gpusim.results.quantity import first_names, format_quantity
from gpusim.runs.options import RunOptions

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result


@frozen
class Repeated:
    """How runs were repeated.

    Attributes:
        seeds: one a run.
        shift: a key of the model that was shifted from run to run; None: none was.
        options: of all runs; their files are named after these, ``run.h5``: ``run.seed-0.h5``, …,
            and the table ``run.seeds.csv``.
    """

    seeds: range
    shift: str | None
    options: RunOptions


def show_repeated(
    results: Sequence[Result], what: Repeated, *, everything: bool, as_json: bool
) -> None:
    """Print means and intervals of runs, write them beside the results, and close these."""
    from gpusim.results.repeated_runs import bands

    try:
        table = bands(results)
        if what.options.output is not None:
            table.to_csv(_beside(what.options.output, "seeds.csv"))
        if as_json:
            print(json.dumps(_plain(what, results, table)))
        else:
            _print(what, results, table if everything else _first(table))
    finally:
        for result in results:
            result.close()


def _beside(output: Path, ending: str) -> Path:
    """``run.h5`` → ``run.ENDING``."""
    return output.with_name(f"{output.stem}.{ending}")


def _print(what: Repeated, results: Sequence[Result], table: pd.DataFrame) -> None:
    console = stdout_console()
    run = results[0].provenance
    title = f"{run.machine} · {run.workload} · {run.scale} · {len(results)} runs"
    shown = Table(title=title, header_style="bold")
    shown.add_column("what", overflow="fold")
    for name in ("mean", "95 % interval"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("unit", no_wrap=True)
    for row in table.to_dict("records"):
        shown.add_row(*map(Text, _cells(row)))
    console.print(shown)
    if len(results) > 1 and len({result.summary["cycles"] for result in results}) == 1:
        hint = "" if what.shift else ": --shift l2.latency shifts a latency that should not matter"
        console.print(
            Text(f"warning: all runs took the same number of cycles{hint}", style="yellow")
        )
    output = what.options.output
    if output is not None:
        files = f"{_beside(output, 'seed-*.h5')} and {_beside(output, 'seeds.csv')}"
        console.print(Text(f"written to {files}"))


def _first(table: pd.DataFrame) -> pd.DataFrame:
    """The numbers to look at first, of the whole run, and what translation costs."""
    names = [str(name) for name in table.index]
    first = first_names(names)
    shown = [name for name in names if name in first or name in _ALSO]
    return table.loc[shown]


_ALSO = ("share_translation", "cycles_without_translation", "cost_translation")


def _cells(row: dict[Any, Any]) -> tuple[str, str, str, str]:
    (mean, unit), (low, low_unit), (high, high_unit) = (
        format_quantity(row[name], row["unit"]) for name in ("mean", "low", "high")
    )
    if row["low"] == row["high"]:
        return row["description"], mean, "", unit
    if {low_unit, high_unit} == {unit}:
        return row["description"], mean, f"{low} … {high}", unit
    return row["description"], mean, f"{low} {low_unit} … {high} {high_unit}", unit


def _plain(what: Repeated, results: Sequence[Result], table: pd.DataFrame) -> dict[str, Any]:
    values = {
        name: [result.summary.get(name) for result in results] for name in map(str, table.index)
    }
    return {
        "seeds": list(what.seeds),
        "shift": what.shift,
        "digests": [result.digest for result in results],
        "numbers": {
            name: {**row, "values": values[name]}
            for name, row in json.loads(table.to_json(orient="index")).items()
        },
    }
