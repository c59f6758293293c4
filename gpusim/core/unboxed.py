"""Lists, dicts and queues that are quick where gpusim is compiled: no integer lies in a box.

Compiled code has integers in registers, and Python's lists and dicts hold objects: each integer
that is put into one, or looked up in one, is made an object and freed again.  What is used for each
transaction is therefore one of these.  Without compiled code they are Python's own list and dict,
which are quicker there; both forms are used alike, and iterate in the same order.

A value or key has at most 64 bits.  A dict of these must not change while it is iterated over.
"""

from __future__ import annotations

from typing import TypeVar

from gpusim.core.version import form

MYPYC = form() == "compiled"  # mypy takes it for true

if MYPYC:
    from gpusim.core.compiled_only.fifo import Fifo, IntFifo, place_in
    from gpusim.core.compiled_only.unboxed import (
        IntDict,
        IntHeap,
        IntList,
        add_new,
        as_int_dict,
        between,
        first_key,
        four,
        heappop,
        heappush,
        pair,
        position,
        take_out,
        to_end,
        zeros,
    )
    from gpusim.core.compiled_only.words import Words
else:
    from array import array
    from bisect import bisect_left as place_in
    from bisect import bisect_left as position
    from heapq import heappop, heappush
    from operator import setitem as add_new

    _T = TypeVar("_T")
    _LONG = 1 << 14

    # Not `dict[int, _T]` and the like: such an alias takes ten times as long to make one.
    IntDict = dict
    IntList = IntHeap = Fifo = IntFifo = list
    take_out = list.remove

    def as_int_dict(entries: dict[int, _T]) -> dict[int, _T] | None:
        """An object as an `IntDict`; None: it is none."""
        return entries

    def between(values: list[int], begin: int, end: int) -> list[int]:
        """A list of the values from place `begin` up to `end`."""
        return values[begin:end]

    def first_key(entries: dict[int, _T]) -> int:
        """The key that came first; there is one."""
        for key in entries:
            return key
        raise KeyError

    def four(first: int, second: int, third: int, fourth: int) -> list[int]:
        """A list of four integers."""
        return [first, second, third, fourth]

    def pair(first: int, second: int) -> list[int]:
        """A list of two integers."""
        return [first, second]

    def to_end(entries: dict[int, _T], key: int) -> None:
        """Let a key that is there be the one that came last."""
        entries[key] = entries.pop(key)

    def zeros(count: int) -> list[int]:
        """A list of `count` zeros."""
        return [0] * count

    class Words:
        """A queue of integers of at most 64 bits: what one side of a machine tells the other."""

        __slots__ = ("_place", "_values")

        def __init__(self) -> None:
            self._values: list[int] = []
            self._place = 0
            """Of the first one that has not been taken."""

        def __len__(self) -> int:
            return len(self._values) - self._place

        def append(self, value: int) -> None:
            """Put a word at the end."""
            self._values.append(value)

        def first(self) -> int:
            """The first word; there is one."""
            return self._values[self._place]

        def take(self) -> int:
            """Take out the first word; there is one."""
            value = self._values[self._place]
            self._place += 1
            return value

        def tidy(self) -> None:
            """Forget what has been taken, if it is all or much."""
            if self._place == len(self._values) or self._place > _LONG:
                del self._values[: self._place]
                self._place = 0

        def take_bytes(self) -> bytes:
            """Take out all, as bytes, eight of them each."""
            data = array("q", self._values[self._place :]).tobytes()
            self._values.clear()
            self._place = 0
            return data

        def append_bytes(self, data: bytes, first: int, end: int) -> None:
            """Put in the words ``[first, end)`` of those that bytes stand for."""
            self._values += array("q", data[8 * first : 8 * end])


__all__ = [
    "Fifo",
    "IntDict",
    "IntFifo",
    "IntHeap",
    "IntList",
    "Words",
    "add_new",
    "as_int_dict",
    "between",
    "first_key",
    "four",
    "heappop",
    "heappush",
    "pair",
    "place_in",
    "position",
    "take_out",
    "to_end",
    "zeros",
]
