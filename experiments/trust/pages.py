"""What pages say: tables, sentences and lists of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpusim.core.errors import UserError

Row = Mapping[str, str]
"""Cells by the names of their columns."""

_NUMBER = re.compile(r"[+-]?\d[\d,]*\.?\d*")


def tables(page: Path, head: str) -> list[Row]:
    """The rows of all tables whose head begins so.

    Raises:
        UserError: the page has no such table.
    """
    rows = list(rows_of(page.read_text(encoding="utf-8"), head))
    if not rows:
        raise UserError(f"{page} has no table that begins with {head!r}")
    return rows


def rows_of(text: str, head: str) -> Iterator[Row]:
    """The rows of all tables of a text whose head begins so."""
    names: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            names = []
        elif names:
            if cells := _cells(line):
                yield dict(zip(names, cells, strict=True))
        elif line.startswith(f"| {head}"):
            names = _cells(line)


def _cells(line: str) -> list[str]:
    """The cells of a row; none: it is the line below the head."""
    cells = [cell.strip() for cell in line.strip()[1:-1].split(" | ")]
    return [] if set(line) <= set("|-: ") else cells


def said(page: Path, pattern: str) -> re.Match[str]:
    """A sentence of a page, whatever its lines are broken into.

    Raises:
        UserError: the page does not say so.
    """
    found = re.search(pattern, " ".join(page.read_text(encoding="utf-8").split()))
    if found is None:
        raise UserError(f"{page} does not say {pattern!r}")
    return found


def numbers(cell: str) -> list[float]:
    """All numbers of a cell, whatever their minus is."""
    return [float(one.replace(",", "")) for one in _NUMBER.findall(cell.replace("−", "-"))]
