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
else:
    from bisect import bisect_left as place_in
    from bisect import bisect_left as position
    from heapq import heappop, heappush
    from operator import setitem as add_new

    _T = TypeVar("_T")

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


__all__ = [
    "Fifo",
    "IntDict",
    "IntFifo",
    "IntHeap",
    "IntList",
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
