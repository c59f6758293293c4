"""Tables of the report: columns, rows and cells as the template needs them."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen


@frozen
class Cell:
    """More than a text.

    Attributes:
        text: what is to be read.
        unit: stands behind it, pale.
        title: shown when the mouse rests on it.
        colour: of a square in front of it, if any.
        hatched: whether the square is.
    """

    text: str
    unit: str = ""
    title: str = ""
    colour: str = ""
    hatched: bool = False


Row = Sequence[str | Cell]


@frozen
class Group:
    """Rows that belong together.

    Attributes:
        rows: a cell a column.
        heading: above them; none if it is empty.
        numbers: beside the heading, if any; a number a column of numbers.
    """

    rows: Sequence[Row]
    heading: str = ""
    numbers: Sequence[str] = ()


@frozen
class Table:
    """A table of the page.

    Attributes:
        caption: what it shows.
        names: headings of the columns of text, which come first.
        numbers: headings of the columns of numbers.
        groups: the rows.
        note: below the table.
    """

    caption: str
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    groups: Sequence[Group]
    note: str = ""


def plain(rows: Sequence[Row]) -> tuple[Group]:
    """Rows without groups."""
    return (Group(rows),)


def whole(number: float) -> str:
    """A whole number, or the nearest one, with thousands separated."""
    return f"{number:,.0f}"


def rest_note(shown: int, total: int, what: str) -> str:
    """Tells what a table leaves out, if anything."""
    return f"{shown:,} of {total:,} {what}." if total > shown else ""
