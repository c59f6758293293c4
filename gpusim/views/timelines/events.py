"""Rows of event tables, a chunk at a time, and only those of the warps that were selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError, nearest
from gpusim.results.event_tables import RECORDS
from gpusim.views.timelines.window import Selection

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

ROWS = 1 << 20
"""Rows that are read at a time."""

_KNOWN: Mapping[str, frozenset[str]] = {
    "intervals": frozenset({"sm", "warp", "app"}),
    "requests": frozenset({"sm", "warp", "app"}),
    "walks": frozenset({"sm", "app"}),
    "dram": frozenset({"app"}),
    "tlb": frozenset({"app"}),
    "fault_batches": frozenset(),
    "transfers": frozenset({"app"}),
    "links": frozenset({"app"}),
    "moves": frozenset({"app"}),
}
"""By table: the parts of a `Selection` for which its rows have a column."""

Wanted = Mapping[str, int]
"""Columns, and the value that selected rows have in them."""


def require(result: Result, table: str) -> None:
    """Refuse a run without an event table.

    Raises:
        UserError: there is no such table; the message says what to record.
    """
    if table not in result.tables:
        record = next(name for name, tables in RECORDS.items() if table in tables)
        recorded = ", ".join(result.tables) or "nothing"
        raise UserError(
            f"{result.name} has no {table!r}: run it with --record {record} "
            f"(recorded were: {recorded})"
        )


def selectable(result: Result, selection: Selection) -> dict[str, Wanted]:
    """For each recorded table that has the columns, the values of rows that a selection wants.

    Raises:
        UserError: there is no such SM, warp or application in the run.
    """
    asked = _resolve(result, selection)
    found: dict[str, Wanted] = {
        table: asked
        for table, known in _KNOWN.items()
        if table in result.tables and asked.keys() <= known
    }
    if "tlb" in found and "app" in asked:
        found["tlb"] = {"asid": int(result.applications.asid[asked["app"]])}
    return found


def rows(
    result: Result, table: str, columns: Sequence[str], among: Wanted
) -> Iterator[pd.DataFrame]:
    """Chunks of the rows of `table` in which the columns of `among` have its values.

    The index tells the numbers of the rows.
    """
    for start in range(0, result.tables[table], ROWS):
        chunk = result.table(table, start, start + ROWS, [*columns, *among])
        yield chunk[_fits(chunk, among)] if among else chunk


def stages(result: Result, among: Wanted) -> Iterator[pd.DataFrame]:
    """Chunks of the stages of those requests in which the columns of `among` have its values."""
    for chunk in rows(result, "stages", ["request", "state", "begin", "end"], {}):
        if among:
            number = chunk.request.to_numpy()  # rising
            first, last = int(number[0]), int(number[-1])
            requests = result.table("requests", first, last + 1, list(among))
            yield chunk[_fits(requests, among)[number - first]]
        else:
            yield chunk


def _fits(chunk: pd.DataFrame, among: Wanted) -> NDArray[np.bool_]:
    fits = np.ones(len(chunk), np.bool_)
    for column, value in among.items():
        fits &= chunk[column].to_numpy() == value
    return fits


def _resolve(result: Result, selection: Selection) -> dict[str, int]:
    """What is asked for, as numbers.

    Raises:
        UserError: as `selectable`.
    """
    asked: dict[str, int] = {}
    if selection.sm is not None:
        _check("SM", result, selection.sm, result.stall_sums.sizes["sm"])
        asked["sm"] = selection.sm
    if selection.warp is not None:
        _check("warp", result, selection.warp, _warps(result, selection.warp))
        asked["warp"] = selection.warp
    if selection.app is not None:
        names = result.applications.name.tolist()
        if selection.app not in names:
            raise UserError(
                f"{result.name} has no application {selection.app!r}"
                f"{nearest(selection.app, names)}; there is: {', '.join(names)}"
            )
        asked["app"] = names.index(selection.app)
    return asked


def _check(what: str, result: Result, number: int, count: int) -> None:
    if not 0 <= number < count:
        raise UserError(f"{result.name} has no {what} {number}; allowed: 0 to {count - 1}")


def _warps(result: Result, asked: int) -> int:
    """How many warps there were, if `asked` is not among those of the applications' first runs.

    Warps of applications that were started again are in the tables only.
    """
    warps = int(result.applications.warps.sum())
    if asked >= warps:
        for table in ("intervals", "requests"):
            if table in result.tables:
                for chunk in rows(result, table, ["warp"], {}):
                    warps = max(warps, int(chunk.warp.max()) + 1)
    return warps
