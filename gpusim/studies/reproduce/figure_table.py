"""The table of a figure as text: on a terminal, and as a CSV file beside its page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.files.whole_files import whole_file
from gpusim.studies.reproduce.run import Outcome

if TYPE_CHECKING:
    import pandas as pd

TABLES = "tables"
"""Folder beside the pages."""


def write_table(found: Outcome, folder: Path) -> None:
    """Write a figure's table, if it has one, to ``TABLES/ID.csv`` in the folder of the pages."""
    if found.table is None:
        return
    header = (str(found.table.index.name), *map(str, found.table.columns))
    write_rows([header, *cells_of(found.table, found.figure.cell)], folder, found.figure.id)


def write_rows(rows: Iterable[tuple[str, ...]], folder: Path, name: str) -> Path:
    """Write a table to ``TABLES/NAME.csv`` in the folder of the pages; which file that is."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    tables = folder / TABLES
    tables.mkdir(exist_ok=True)
    path = tables / f"{name}.csv"
    with whole_file(path) as file:
        file.write(stream.getvalue().encode())
    return path


def cells_of(table: pd.DataFrame, cell: str) -> Iterator[tuple[str, ...]]:
    """The rows of a table as text: floats as `cell` says, whole numbers in full."""
    for row in table.itertuples():
        yield tuple(_cell(value, cell) for value in row)


def _cell(value: object, cell: str) -> str:
    if isinstance(value, float):
        return "–" if isnan(value) else cell.format(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
