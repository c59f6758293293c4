"""Tables of kernels and their launches, with the headline numbers of each."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve

from gpusim.results.quantity import format_quantity, in_sections
from gpusim.views.report.table import Cell, Group, Row, Table, plain, rest_note, whole

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results import Result

LAUNCHES = 200
"""Rows that the table of launches has at most."""

KERNELS = 12
"""Columns that the table of all numbers has at most."""

_SHOWN = {
    "ipc": "IPC",
    "tlb_(.+)_hit_rate": r"\1 TLB hits",
    "l1_hit_rate": "L1 hits",
    "l2_hit_rate": "L2 hits",
    "walks": "page walks",
    "share_translation": "translation",
}
"""Patterns of the numbers that stand in the rows of kernels and launches, and their headings."""


def kernel_table(result: Result) -> Table:
    """Kernels, those first that took longest in all."""
    shown = _shown(result)
    rows: list[Row] = [
        (
            kernel["kernel"],
            kernel["app"],
            *(whole(kernel[name]) for name in ("launches", "blocks", "all", "mean", "longest")),
            *(_short(result, kernel, name) for name in shown),
        )
        for kernel in _by_length(result).to_dict("records")
    ]
    return Table(
        "Kernels",
        ("kernel", "application"),
        ("launches", "thread blocks", "cycles in all", "mean cycles", "longest", *shown.values()),
        plain(rows),
    )


def kernel_numbers(result: Result) -> Table | None:
    """All headline numbers of the kernels that took longest; None: an older file without them."""
    facts = result.launch_numbers
    if not facts:
        return None
    kernels = _by_length(result)
    rows = kernels.head(KERNELS).to_dict("records")
    groups = [
        Group(
            [
                (
                    Cell(facts[name][1], title=name),
                    *(_cell(result, kernel, name) for kernel in rows),
                )
                for name in names
                if not name.startswith("share_") or any(one[name] > 0 for one in rows)
            ],
            heading,
        )
        for heading, names in in_sections(facts).items()
    ]
    several = kernels.app.nunique() > 1
    columns = (f"{one['kernel']} ({one['app']})" if several else one["kernel"] for one in rows)
    return Table(
        "All headline numbers by kernel",
        ("what",),
        tuple(columns),
        groups,
        rest_note(len(rows), len(kernels), "kernels"),
    )


def launch_table(result: Result) -> Table:
    """The first kernel launches."""
    launches, shown = _timed(result), _shown(result)
    several = "overlaps" in launches and bool(launches.overlaps.any())
    rows: list[Row] = [
        (
            launch["kernel"],
            launch["app"],
            str(launch["launch"]),
            whole(launch["first"]),
            whole(launch["end"]),
            whole(launch["length"]),
            whole(launch["blocks"]),
            *([str(launch["stream"]), whole(launch["overlaps"])] if several else []),
            *(_short(result, launch, name) for name in shown),
        )
        for launch in launches.head(LAUNCHES).to_dict("records")
    ]
    return Table(
        "Launches, as they began",
        ("kernel", "application"),
        (
            *("number", "first cycle", "end", "cycles", "thread blocks"),
            *(("stream", "overlaps with") if several else ()),
            *shown.values(),
        ),
        plain(rows),
        rest_note(len(rows), len(launches), "launches"),
    )


def _timed(result: Result) -> pd.DataFrame:
    """Launches with `first` and `length`: without what a launch takes, where a file tells it."""
    launches = result.launches
    first = launches["work_begin" if "work_begin" in launches else "begin"]
    return launches.assign(first=first, length=launches.end - first)


def _by_length(result: Result) -> pd.DataFrame:
    """Kernels with the cycles of their launches: in all, mean, longest; longest in all first."""
    lengths = _timed(result).groupby(["app", "kernel"], sort=False).length
    by_kernel = lengths.agg(all="sum", mean="mean", longest="max").reset_index()
    kernels = result.kernels.merge(by_kernel, on=["app", "kernel"])
    return kernels.sort_values("all", ascending=False, kind="stable")


def _shown(result: Result) -> dict[str, str]:
    """Names of the numbers that stand in rows, with their headings."""
    names = result.launch_numbers
    return {
        name: re.sub(pattern, heading, name)
        for pattern, heading in _SHOWN.items()
        for name in names
        if re.fullmatch(pattern, name)
    }


def _short(result: Result, row: Mapping[Any, Any], name: str) -> str | Cell:
    """A number whose unit the heading of its column tells; shares are percent."""
    cell = _cell(result, row, name)
    return cell if isinstance(cell, str) or cell.unit == "%" else evolve(cell, unit="")


def _cell(result: Result, row: Mapping[Any, Any], name: str) -> str | Cell:
    value = row[name]
    if math.isnan(value):
        return "–"
    unit, _ = result.launch_numbers[name]
    return Cell(*format_quantity(value, unit), title=f"{name} = {value!r}")
