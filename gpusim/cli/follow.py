"""`gpusim follow`: the path of single memory transactions, stage by stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.opening import opened
from gpusim.cli.options import Json
from gpusim.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from rich.table import Table

    from gpusim.results import Life, WalkWait

_BAR_WIDTH = 24
_FOLDED_FROM = 3
"""Times that two stages take turns from which on they are one line."""


def follow(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result with recorded requests.")],
    slowest: Annotated[
        int | None, typer.Option(min=1, help="Number of the slowest transactions (default 3).")
    ] = None,
    app: Annotated[str | None, typer.Option(help="Only transactions of this application.")] = None,
    sm: Annotated[int | None, typer.Option(min=0, help="Only transactions of this SM.")] = None,
    warp: Annotated[int | None, typer.Option(min=0, help="Only transactions of this warp.")] = None,
    request: Annotated[
        list[int] | None, typer.Option(help="Row in the table requests; may be repeated.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Follow memory transactions through the machine: where each spent its cycles."""
    from gpusim.results import follow as follow_request
    from gpusim.results import slowest_requests

    chosen = (slowest, app, sm, warp)
    if request and any(choice is not None for choice in chosen):
        raise UserError("--request names transactions: leave out --slowest, --app, --sm and --warp")
    with opened(file) as (result,):
        rows = request
        if not rows:
            rows = slowest_requests(result, slowest or 3, app=app, sm=sm, warp=warp).index.tolist()
        if not rows:
            raise UserError(f"{file} has no transactions of that application, SM and warp")
        lives = [follow_request(result, row) for row in rows]
        walks_known = "walks" in result.tables
        if as_json:
            print(json.dumps({"requests": [life.to_json() for life in lives]}))
        else:
            _print(lives, walks_known)


def _print(lives: list[Life], walks_known: bool) -> None:
    from rich.text import Text

    from gpusim.cli.console import stdout_console

    console = stdout_console()
    for life in lives:
        console.print(Text(_title(life), style="bold"))
        console.print(_stages(life))
        if life.walk is not None:
            console.print(Text(_walk(life.walk)))
        console.print()
    if not walks_known:
        console.print(Text("page walks are not shown: they were not recorded (--record walks)"))


def _title(life: Life) -> str:
    array = f"{life.array} at " if life.array else ""
    return (
        f"request {life.row} · {life.app} · SM {life.sm} · warp {life.warp} · {life.kind} of "
        f"{array}{life.address:#x} (line {life.vline:#x}, page {life.vpn:#x}) · "
        f"{life.cycles:,} cycles"
    )


def _stages(life: Life) -> Table:
    from rich.table import Table
    from rich.text import Text

    from gpusim.results.quantity import percent

    table = Table(header_style="bold")
    table.add_column("stage", no_wrap=True)
    for name in ("begin", "end", "cycles", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, begin, end in _folded(life.stages):
        cells = (
            name,
            f"{begin:,}",
            f"{end:,}",
            f"{end - begin:,}",
            percent((end - begin) / life.cycles, 1),
            _bar(life, begin, end),
        )
        table.add_row(*map(Text, cells))
    return table


def _folded(stages: pd.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Name, begin and end of each stage; those that take turns are one line.

    A miss that finds no MSHR goes back and forth like that until there is one.
    """
    names = stages["stage"].tolist()
    begins, ends = stages["begin"].tolist(), stages["end"].tolist()
    first = 0
    while first < len(names):
        last = first + 2
        while last < len(names) and names[last] == names[last - 2]:
            last += 1
        turns = (last - first) // 2
        if turns < _FOLDED_FROM:
            turns, last = 0, first + 1
        else:
            last = first + 2 * turns
        name = f"{names[first]}, {names[first + 1]} ({turns} times)" if turns else names[first]
        yield name, begins[first], ends[last - 1]
        first = last


def _bar(life: Life, begin: int, end: int) -> str:
    """The cycles ``[begin, end)`` within the life, as wide as at least one character."""
    first = (begin - life.begin) * _BAR_WIDTH // life.cycles
    last = -(-(end - life.begin) * _BAR_WIDTH // life.cycles)
    return " " * first + "█" * (last - first)


def _walk(walk: WalkWait) -> str:
    return (
        f"page walk {walk.row}: {'joined; ' if walk.joined else ''}asked for by "
        f"{f'SM {walk.sm}' if walk.joined else 'this transaction'}, at the walkers in cycle "
        f"{walk.requested:,}, queued {walk.queued_cycles:,} cycles, walked "
        f"{walk.finished - walk.started:,} cycles ({walk.levels} levels)"
    )
