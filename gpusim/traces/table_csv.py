"""A table of transactions as CSV: the first line names its columns, each other one is a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.traces.text import plain_name, read_lines

_WORDS = {"true": 1, "false": 0}


def is_csv(path: Path) -> bool:
    """Whether a file's name is that of a CSV, compressed or not."""
    return plain_name(path).lower().endswith(".csv")


def csv_names(path: Path) -> list[str]:
    """The names that the first line of a CSV has; empty where it has none.

    Raises:
        UserError: it cannot be read.
    """
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    return _cells(first)


def _cells(line: str) -> list[str]:
    """What stands between the commas of a line, without spaces and quotes around it."""
    return [cell.strip().strip('"') for cell in line.split(",")]


class CsvColumns:
    """A file that is read as a whole when the first of its columns is asked for.

    Args:
        path: of the file, compressed or not.

    Attributes:
        names: of its columns.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names = csv_names(path)
        self._columns: dict[str, NDArray[Any]] | None = None

    def read(self, name: str) -> NDArray[Any]:
        """One column: whole numbers.

        Raises:
            UserError: a row is wrong; names file and line.
        """
        if self._columns is None:
            self._columns = self._read()
        return self._columns[name]

    def _read(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, list[int]] = {name: [] for name in self.names}
        lines = ((number, text) for number, text in read_lines(self._path) if text.strip())
        next(lines)
        for number, text in lines:
            cells = _cells(text)
            if len(cells) != len(self.names):
                raise UserError(
                    f"{self._path}:{number}: {len(cells)} values; the first line names "
                    f"{len(self.names)} columns"
                )
            for name, cell in zip(self.names, cells, strict=True):
                columns[name].append(self._number(number, name, cell))
        return {name: np.array(values, dtype=np.int64) for name, values in columns.items()}

    def _number(self, line: int, name: str, cell: str) -> int:
        try:
            return _WORDS[cell.lower()] if cell.lower() in _WORDS else int(cell, 0)
        except ValueError as error:
            raise UserError(
                f"{self._path}:{line}: column {name!r}: {cell[:40]!r}; must be a whole number"
            ) from error
