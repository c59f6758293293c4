"""The first numbers to look at, and all headline numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.results.quantity import format_quantity, full_name, headline_rows
from gpusim.views.report.table import Cell, Group, Table

if TYPE_CHECKING:
    from gpusim.results import Result

_TILES = (
    "cycles",
    "cycles_without_translation",
    "cost_translation",
    "ipc",
    "walks",
    "walk_latency",
    "dram_bandwidth",
)


@frozen
class Tile:
    """A number that meets the eye first, and what it is."""

    value: Cell
    label: str


def tiles(result: Result) -> list[Tile]:
    """The first numbers to look at."""
    return [
        Tile(_cell(result, name), result.summary_descriptions[name])
        for name in _TILES
        if name in result.summary
    ]


def headline_table(result: Result) -> Table:
    """All headline numbers but the shares of single states, which the table of stalls has."""
    table = headline_rows(result)
    groups = [
        Group(
            [
                (
                    Cell(table.descriptions[name], title=name),
                    *(_cell(result, full_name(app, name)) for app in table.apps),
                )
                for name in names
            ],
            heading,
        )
        for heading, names in table.sections.items()
    ]
    columns = ("value",) if len(table.apps) == 1 else tuple(app or "all" for app in table.apps)
    return Table("Headline numbers", ("what",), columns, groups)


def _cell(result: Result, name: str) -> Cell:
    if name not in result.summary:
        return Cell("–")
    value = result.summary[name]
    return Cell(*format_quantity(value, result.summary_units[name]), title=f"{name} = {value!r}")
