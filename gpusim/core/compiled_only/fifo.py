"""Queues as rings, for compiled code alone: what comes first is taken without moving the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar, cast

from librt.vecs import append, vec
from mypy_extensions import i64

T = TypeVar("T")

_ROOM: Final[i64] = 4
"""Places of a ring at first; a power of two."""


class Fifo(Generic[T]):
    """A queue of objects, used as a list of which the first one is taken."""

    __slots__ = ("_count", "_first", "_items", "_mask")

    def __init__(self) -> None:
        self._items: list[T | None] = []
        self._first: i64 = 0
        self._count: i64 = 0
        self._mask: i64 = -1
        """Places of the ring, a power of two, less one."""

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count != 0

    def __getitem__(self, index: i64) -> T:
        """The entry at a place, from 0 on."""
        if index >= self._count:
            raise IndexError(index)
        return cast("T", self._items[self._first + index & self._mask])

    def __setitem__(self, index: i64, item: T) -> None:
        """Put an entry in the place of the one at a place, from 0 on."""
        if index >= self._count:
            raise IndexError(index)
        self._items[self._first + index & self._mask] = item

    def __iter__(self) -> Iterator[T]:
        return iter([self[place] for place in range(self._count)])

    def __repr__(self) -> str:
        return repr(list(self))

    def append(self, item: T) -> None:
        """Put an entry at the end."""
        count = self._count
        if count > self._mask:
            self._grow()
        self._items[self._first + count & self._mask] = item
        self._count = count + 1

    def insert(self, index: i64, item: T) -> None:
        """Put an entry in front of the one at a place, from 0 on."""
        self.append(item)
        items, first, mask = self._items, self._first, self._mask
        place = self._count - 1
        while place > index:
            items[first + place & mask] = items[first + place - 1 & mask]
            place -= 1
        items[first + index & mask] = item

    def pop(self, index: i64) -> T:
        """Take out the entry at a place, from 0 on."""
        taken = self[index]
        items, first, mask = self._items, self._first, self._mask
        while index:
            items[first + index & mask] = items[first + index - 1 & mask]
            index -= 1
        items[first] = None
        self._first = first + 1 & mask
        self._count -= 1
        return taken

    def clear(self) -> None:
        """Take out all; objects may live on until others have their places."""
        self._first = self._count = 0

    def _grow(self) -> None:
        """Make room for twice as many entries."""
        room = 2 * self._mask + 2 or _ROOM
        items: list[T | None] = []
        for entry in self:
            items.append(entry)  # noqa: PERF402  (of compiled code, the quickest way)
        while len(items) < room:
            items.append(None)
        self._items = items
        self._first = 0
        self._mask = room - 1


class IntFifo:
    """A queue of integers, used as a list of which the first one is taken."""

    __slots__ = ("_count", "_first", "_items", "_mask")

    def __init__(self) -> None:
        self._items = vec[i64]()
        self._first: i64 = 0
        self._count: i64 = 0
        self._mask: i64 = -1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: i64) -> int:
        """The value at a place, from 0 on, or from the end."""
        if index < 0:
            index += self._count
        if not 0 <= index < self._count:
            raise IndexError(index)
        return self._items[self._first + index & self._mask]

    def __iter__(self) -> Iterator[int]:
        return iter([self[place] for place in range(self._count)])

    def __repr__(self) -> str:
        return repr(list(self))

    def append(self, value: i64) -> None:
        """Put a value at the end."""
        count = self._count
        if count > self._mask:
            self._grow()
        self._items[self._first + count & self._mask] = value
        self._count = count + 1

    def insert(self, index: i64, value: i64) -> None:
        """Put a value in front of the one at a place, from 0 on."""
        self.append(value)
        items, first, mask = self._items, self._first, self._mask
        place = self._count - 1
        while place > index:
            items[first + place & mask] = items[first + place - 1 & mask]
            place -= 1
        items[first + index & mask] = value

    def pop(self, index: i64) -> int:
        """Take out the value at a place, from 0 on."""
        taken = self[index]
        items, first, mask = self._items, self._first, self._mask
        while index:
            items[first + index & mask] = items[first + index - 1 & mask]
            index -= 1
        self._first = first + 1 & mask
        self._count -= 1
        return taken

    def _grow(self) -> None:
        """Make room for twice as many values."""
        room = 2 * self._mask + 2 or _ROOM
        items = vec[i64](capacity=room)
        for place in range(self._count):
            items = append(items, self._items[self._first + place & self._mask])
        while i64(len(items)) < room:
            items = append(items, 0)
        self._items = items
        self._first = 0
        self._mask = room - 1


def place_in(values: IntFifo, value: i64) -> int:
    """Where a value would be put into a sorted queue, before equal ones; most go near the end."""
    items, first, mask = values._items, values._first, values._mask
    place = values._count
    while place and items[first + place - 1 & mask] >= value:
        place -= 1
    return place
