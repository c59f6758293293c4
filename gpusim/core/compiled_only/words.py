"""Words as a vector of integers, for compiled code alone (`gpusim.core.unboxed` has the others)."""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i64

_LONG: Final[i64] = 1 << 14


class Words:
    """A queue of integers of at most 64 bits."""

    __slots__ = ("_items", "_place")

    def __init__(self) -> None:
        self._items = vec[i64]()
        self._place: i64 = 0

    def __len__(self) -> int:
        return i64(len(self._items)) - self._place

    def __bool__(self) -> bool:
        return self._place < len(self._items)

    def append(self, value: i64) -> None:
        """Put a word at the end."""
        self._items = append(self._items, value)

    def first(self) -> i64:
        """The first word; there is one."""
        return self._items[self._place]

    def take(self) -> i64:
        """Take out the first word; there is one."""
        value = self._items[self._place]
        self._place += 1
        return value

    def tidy(self) -> None:
        """Forget what has been taken, if it is all or much."""
        place = self._place
        if place == len(self._items):
            if place:
                self._items = vec[i64]()
                self._place = 0
        elif place > _LONG:
            self._items = self._items[place : len(self._items)]
            self._place = 0

    def take_bytes(self) -> bytes:
        """Take out all, as bytes, eight of them each."""
        writer = BytesWriter()
        items, place = self._items, self._place
        end = i64(len(items))
        while place < end:
            write_i64_le(writer, items[place])
            place += 1
        self._items = vec[i64]()
        self._place = 0
        return writer.getvalue()

    def append_bytes(self, data: bytes, first: i64, end: i64) -> None:
        """Put in the words ``[first, end)`` of those that bytes stand for."""
        items = self._items
        while first < end:
            items = append(items, read_i64_le(data, first * 8))
            first += 1
        self._items = items
