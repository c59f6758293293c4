"""What arrays and lines of code have cost, by the names that the program has for them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gpusim.core.errors import UserError, nearest
from gpusim.results.inconsistent_file import misread
from gpusim.results.quantity import percent
from gpusim.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

COSTS = {
    "tlb_misses": "TLB misses",
    "walks": "page walks",
    "walk_cycles": "page-walk cycles",
    "stall_cycles": "stall cycles",
    "translation_cycles": "stall cycles of translation",
    "dram_bytes": "DRAM bytes",
    "table_bytes": "DRAM bytes of page tables",
    "requests": "transactions that did not hit at once",
}
"""What is counted, and what people call it."""

BY = {
    "array": ("array",),
    "line": ("line",),
    "instruction": ("line", "instruction"),
    "both": ("line", "array"),
}
"""Choices of what costs are summed by."""

ANSWERED = ("tlb_misses", "walk_cycles", "stall_cycles", "dram_bytes")
"""Costs of which a sentence is made."""

OTHER_ARRAY = "no named array"
UNKNOWN_LINE = "not known"


def blame(result: Result, by: str = "both", sort: str = "tlb_misses") -> pd.DataFrame:
    """What each array, or line of code, has cost, the most expensive first.

    Args:
        result: a run with the record `blame`.
        by: what is summed: ``"array"``, ``"line"``, ``"instruction"``, or ``"both"`` line and
            array.
        sort: one of `COSTS`.

    Returns:
        app, then array and line as far as they are asked for, then `COSTS`; all of one run add up
        to what its counters say, but for loads that hit at once.

    Raises:
        UserError: nothing was recorded, or a choice is wrong.
    """
    if "blame" not in result.tables:
        raise UserError(f"{result.name} has no record of it: run it again with --record blame")
    for what, choice, allowed in (("by", by, BY), ("sort", sort, COSTS)):
        if choice not in allowed:
            raise UserError(
                f"{what} {choice!r}{nearest(choice, allowed)}; allowed: {', '.join(allowed)}"
            )
    with misread(result):
        rows = _named(result)
    keys = ["app", *BY[by]]
    summed = rows.groupby(keys, sort=False)[list(COSTS)].sum().reset_index()
    return summed.sort_values(sort, ascending=False, kind="stable").reset_index(drop=True)


def _named(result: Result) -> pd.DataFrame:
    """The table, with names."""
    rows = result.table("blame")
    apps = result.applications.name.tolist()
    arrays = [*result.arrays.name.tolist(), OTHER_ARRAY]
    lines, instructions = [UNKNOWN_LINE], [UNKNOWN_LINE]
    for one in result.code.to_dict("records"):
        line, instruction = _place(one)
        lines.append(line)
        instructions.append(instruction)
    rows["app"] = [apps[number] for number in rows.app]
    rows["array"] = [arrays[number] for number in rows.array]
    rows["line"] = [lines[number + 1] for number in rows.place]
    rows["instruction"] = [instructions[number + 1] for number in rows.place]
    return rows


def _place(one: Mapping[Hashable, Any]) -> tuple[str, str]:
    """A place as a line of the source, or of the kernel's code; and its instruction."""
    instruction = f"{one['text'] or 'pc'} {one['pc']:#x}" if one["pc"] != -1 else str(one["text"])
    if one["line"]:
        file = PurePath(str(one["file"])).name or one["kernel"]
        return f"{file}:{one['line']}", instruction
    return f"{one['kernel']}+{one['pc']:#x}", instruction


def answers(result: Result, costs: tuple[str, ...] = ANSWERED) -> list[str]:
    """Where most of each cost comes from, a sentence each; none if `blame` was not recorded."""
    if "blame" not in result.tables:
        return []
    found = blame(result)
    several = len(result.applications) > 1
    sentences = []
    for cost in costs:
        total = found[cost].sum()
        if not total:
            continue
        first = found.groupby(["app", "array"])[cost].sum().reset_index().nlargest(1, cost)
        (largest,) = first.to_dict("records")
        app, array = largest["app"], largest["array"]
        share = largest[cost] / total
        own = found[(found.app == app) & (found.array == array)]
        (line,) = own.nlargest(1, cost).to_dict("records")
        where = OTHER_ARRAY if array == OTHER_ARRAY else f"array `{array}`"
        where += f" of {app}" if several else ""
        if line["line"] != UNKNOWN_LINE:
            part = line[cost] / largest[cost]
            most = "" if part == 1 else f", {percent(part)} of them"
            where += f" ({line['line']}{most})"
        sentences.append(f"{COSTS[cost]}: {percent(share)} in {where}")
    return sentences
