"""The table of arrays and lines of code, with what they have cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.results.blame import COSTS, blame
from gpusim.results.quantity import percent
from gpusim.views.report.table import Row, Table, plain, rest_note, whole

if TYPE_CHECKING:
    from gpusim.results import Result

_ROWS = 20
_COSTS = ("tlb_misses", "walk_cycles", "stall_cycles", "translation_cycles", "dram_bytes")


def blame_table(result: Result) -> Table | None:
    """Where TLB misses come from, by line and array; None if that was not recorded."""
    if "blame" not in result.tables:
        return None
    found = blame(result)
    total = max(found.tlb_misses.sum(), 1)
    rows: list[Row] = [
        (
            row["line"],
            row["array"],
            row["app"],
            *(whole(row[cost]) for cost in _COSTS),
            percent(row["tlb_misses"] / total, 1),
        )
        for row in found.head(_ROWS).to_dict("records")
    ]
    return Table(
        "What lines of code have cost in each array",
        ("line", "array", "application"),
        (*(COSTS[cost] for cost in _COSTS), "of all TLB misses"),
        plain(rows),
        rest_note(len(rows), len(found), "lines and arrays"),
    )
