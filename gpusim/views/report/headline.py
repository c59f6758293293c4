"""The answer in a sentence, and the headline numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.results.quantity import format_quantity, section_of
from gpusim.views.report.table import Cell, Group, Row, Table, percent

if TYPE_CHECKING:
    from gpusim.results import Result

_TILES = ("cycles", "ipc", "walks", "walk_latency", "dram_bandwidth")


@frozen
class Tile:
    """A number that meets the eye first, and what it is."""

    value: Cell
    label: str


def answer(result: Result) -> str:
    """What translation cost, in a sentence."""
    shares = {
        name.rpartition("/")[0]: percent(value)
        for name, value in result.summary.items()
        if name.rpartition("/")[2] == "share_translation"
    }
    if not shares:
        return "No warp lived in this run."
    cost = f"{shares.pop('')} of warp-cycles waited for translation"
    each = ", ".join(f"{share} of {app}’s" for app, share in shares.items())
    return f"Translation cost: {cost}" + (f" ({each})." if each else ".")


def tiles(result: Result) -> list[Tile]:
    """The first numbers to look at."""
    return [
        Tile(_cell(result, name), result.summary_descriptions[name])
        for name in _TILES
        if name in result.summary
    ]


def headline_table(result: Result) -> Table:
    """All headline numbers but the shares of single states, which the table of stalls has."""
    in_stalls = {f"share_{state}" for state in result.states}
    apps: dict[str, None] = {}
    descriptions: dict[str, str] = {}
    for full_name, description in result.summary_descriptions.items():
        app, _, name = full_name.rpartition("/")
        apps[app] = None
        if name not in in_stalls:
            descriptions.setdefault(name, description)
    sections: dict[str, list[Row]] = {}
    for name, description in descriptions.items():
        cells = [_cell(result, f"{app}/{name}" if app else name) for app in apps]
        rows = sections.setdefault(section_of(name), [])
        rows.append((Cell(description, title=name), *cells))
    columns = ("value",) if len(apps) == 1 else tuple(app or "all" for app in apps)
    groups = [Group(rows, heading) for heading, rows in sections.items()]
    return Table("Headline numbers", ("what",), columns, groups)


def _cell(result: Result, name: str) -> Cell:
    if name not in result.summary:
        return Cell("–")
    value = result.summary[name]
    return Cell(*format_quantity(value, result.summary_units[name]), title=f"{name} = {value!r}")
