"""`gpusim blame`: which array, and which line of code, costs what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.opening import opened
from gpusim.cli.options import Json, refuse_options
from gpusim.core.terminal_text import shown

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from gpusim.results import Result

_ROWS = 20
"""Of the table, where nothing else is said."""

_COLUMNS = ("tlb_misses", "walk_cycles", "stall_cycles", "dram_bytes")
"""Costs that the table shows beside the one that it is sorted by."""


def blame(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result with the record blame.")],
    by: Annotated[
        str, typer.Option(help="What is summed: array, line, instruction, or both.")
    ] = "both",
    sort: Annotated[
        str, typer.Option(help="Cost, such as tlb_misses, walk_cycles, stall_cycles, dram_bytes.")
    ] = "tlb_misses",
    rows: Annotated[int | None, typer.Option(min=1, help="How many (default 20).")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture, such as lines.png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show which arrays, and which lines of code, TLB misses and stalls come from."""
    from gpusim.results.blame import answers
    from gpusim.results.blame import blame as blame_of

    if output is not None or as_json:
        refuse_options("is of the table: without -o and --json", rows=rows)
    with opened(file) as (result,):
        found = blame_of(result, by, sort)
        if output is not None:
            _draw(result, sort, by, output)
        if as_json:
            print(json.dumps({"sentences": answers(result), "rows": found.to_dict("records")}))
            return
        for sentence in answers(result):
            print(shown(sentence))
        if output is None:
            _print(found, by, sort, rows or _ROWS)
        else:
            print(shown(f"written to {output}"))


def _draw(result: Result, cost: str, by: str, path: Path) -> None:
    from gpusim.views.plots import check_picture, save
    from gpusim.views.timelines.code_lines import draw_code_lines

    check_picture(path)
    save(draw_code_lines(result, cost, by="line" if by == "both" else by), path)


def _print(found: pd.DataFrame, by: str, sort: str, rows: int) -> None:
    from gpusim.cli.console import stdout_console

    console = stdout_console()
    found = found[found[[*_COLUMNS, sort]].any(axis=1)]
    console.print(_table(found.head(rows), by, sort))
    if len(found) > rows:
        console.print(f"{rows} of {len(found)} rows; more with --rows")


def _table(found: pd.DataFrame, by: str, sort: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    from gpusim.results.blame import BY, COSTS
    from gpusim.results.quantity import percent

    names = [*(["app"] if found.app.nunique() > 1 else []), *BY[by]]
    costs = [sort, *(cost for cost in _COLUMNS if cost != sort)]
    table = Table(header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold")
    for cost in costs:
        table.add_column(COSTS[cost], justify="right")
    totals = found[costs].sum()
    for row in found.to_dict("records"):
        share = f" ({percent(row[sort] / max(totals[sort], 1))})"
        cells = [str(row[name]) for name in names]
        cells += [f"{row[cost]:,}{share if cost == sort else ''}" for cost in costs]
        table.add_row(*map(Text, cells))
    return table
