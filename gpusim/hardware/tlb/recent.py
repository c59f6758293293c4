"""A small fully associative table of a predictor, whose least recently used row goes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row")


class RecentRows(Generic[Key, Row]):
    """Up to `capacity` rows by key."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._rows: dict[Key, Row] = {}

    def get(self, key: Key) -> Row | None:
        """The row of a key, if it is there; that counts as a use."""
        row = self._rows.pop(key, None)
        if row is not None:
            self._rows[key] = row
        return row

    def put(self, key: Key, row: Row) -> None:
        """Keep a row, in the place of that of its key, or of the one used longest ago."""
        if self._rows.pop(key, None) is None and len(self._rows) >= self._capacity:
            del self._rows[next(iter(self._rows))]
        self._rows[key] = row
