"""Columns: the type, unit and meaning of a dataset."""

from __future__ import annotations

from attrs import frozen

TEXT = "text"
"""The type of a column of UTF-8 strings, stored with a fixed length."""


@frozen(eq=False, repr=False)
class Column:
    """One dataset.

    Attributes:
        name: of the dataset.
        type: a numpy type such as ``"u4"``, or `TEXT`.
        unit: ``"1"`` for plain numbers, empty for names and texts.
        description: what it means, for readers of the file.
        many: in a table that is one record: whether it is a list.
        older: what it is in older files, which lack it; None: none lacks it.
        flags: what its numbers mean, by number; empty: they are what they say.
    """

    name: str
    type: str
    unit: str
    description: str
    many: bool = False
    older: str | int | None = None
    flags: tuple[str, ...] = ()


@frozen(eq=False, repr=False)
class Table:
    """A group of columns of equal length.

    Attributes:
        description: what a row is.
        columns: in order.
    """

    description: str
    columns: tuple[Column, ...]
