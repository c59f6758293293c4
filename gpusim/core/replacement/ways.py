"""Replacement that knows the ways of a set: where in it an entry is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from mypy_extensions import mypyc_attr

from gpusim.core.replacement.base import Replacement


@mypyc_attr(allow_interpreted_subclasses=True)
class ReplacementByWay(Replacement):
    """Numbers the ways of each set; a new entry takes the lowest way that is free.

    So an entry takes the way of the victim that left for it.  A policy that inherits from this
    class decides among ways in `used`, `filled` and `way_that_goes`.

    Attributes:
        ways: by set and key, the way of an entry.
        keys: by set and way, the key of the entry there; None: the way is free.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ways: list[dict[int, int]] = []
        self.keys: list[list[int | None]] = []

    def adopt(self, entries: Any, ways: int) -> int:
        self.ways.append({})
        self.keys.append([None] * ways)
        return super().adopt(entries, ways)

    def insert(self, index: int, key: int) -> None:
        keys = self.keys[index]
        way = keys.index(None)
        keys[way] = key
        self.ways[index][key] = way
        self.filled(index, way)

    def touch(self, index: int, key: int) -> None:
        self.used(index, self.ways[index][key])

    def victim(self, index: int) -> int:
        keys = self.keys[index]
        key = keys[way := self.way_that_goes(index)]
        while key is None:  # what comes to this way is under way: as if it were used now
            self.used(index, way)
            key = keys[way := self.way_that_goes(index)]
        return key

    def forget(self, index: int, key: int) -> None:
        self.keys[index][self.ways[index].pop(key)] = None

    @abstractmethod
    def used(self, index: int, way: int) -> None:
        """The entry in a way has been used."""

    @abstractmethod
    def filled(self, index: int, way: int) -> None:
        """A new entry is in a way."""

    @abstractmethod
    def way_that_goes(self, index: int) -> int:
        """The way whose entry goes; one that is free is reserved, and counts as used then."""
