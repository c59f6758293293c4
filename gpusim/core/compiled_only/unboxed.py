"""The compiled form of `gpusim.core.unboxed`: classes on vectors of fixed-width integers.

This module is there for compiled code alone.  Vectors (`librt`, mypyc's runtime library) are slow
in interpreted code, and need not be installed for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, TypeVar, overload

from librt.vecs import append, pop, vec
from mypy_extensions import i32, i64, mypyc_attr

T = TypeVar("T")

_FEW: Final[i64] = 16
"""Entries of a dict up to which it is looked through; a power of two."""

_CHAIN: Final[i64] = 0
_HEAD: Final[i64] = 1
_BEFORE: Final[i64] = 2
_AFTER: Final[i64] = 3
"""Of the four links of a place in a dict: the next place of its bucket (of a free place: the next
free one); the first place of the bucket with its number; the entries that came before and after."""

_LOW: Final[i64] = 0x7FFFFFFF
_SPREAD: Final[i64] = 0x4F1BBCDD
_SPREAD_SHIFT: Final[i64] = 20
"""A key is folded into 31 bits and multiplied by an odd number of 31 bits; bits from the middle of
the product choose its bucket: keys of one set of a cache differ only in their high bits."""


@mypyc_attr(acyclic=True)
class IntList:  # noqa: PLW1641  (it changes)
    """A list of integers."""

    __slots__ = ("_items",)

    def __init__(self, values: Iterable[int] | None = None) -> None:
        if isinstance(values, list):
            items = vec[i64](capacity=len(values))
            for value in values:
                items = append(items, value)
            self._items = items
        else:
            self._items = vec[i64](capacity=12)
            if values is not None:
                self += values

    def __iadd__(self, values: Iterable[int]) -> IntList:
        for value in values:
            self.append(value)
        return self

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: i64) -> int:
        return self._items[index]

    def __setitem__(self, index: i64, value: i64) -> None:
        self._items[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(boxed(self._items))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, IntList):
            return boxed(self._items) == boxed(other._items)
        return boxed(self._items) == other

    def __repr__(self) -> str:
        return repr(boxed(self._items))

    def append(self, value: i64) -> None:
        """Put a value at the end."""
        self._items = append(self._items, value)

    def insert(self, index: i64, value: i64) -> None:
        """Put a value in front of the one at a place, from 0 on."""
        items = append(self._items, value)
        place = i64(len(items)) - 1
        while place > index:
            items[place] = items[place - 1]
            place -= 1
        items[index] = value
        self._items = items

    def pop(self, index: i64 = -1) -> int:
        """Take out the value at a place, or the last one."""
        self._items, taken = pop(self._items, index)
        return taken


def boxed(items: vec[i64]) -> list[int]:
    """The numbers of a vector as Python's."""
    found: list[int] = []
    for item in items:
        found.append(int(item))  # noqa: PERF401  (of compiled code, the quickest way)
    return found


def list_of(items: vec[i64]) -> IntList:
    """A vector as a list, which has it from now on."""
    made = IntList()
    made._items = items
    return made


def pair(first: i64, second: i64) -> IntList:
    """A list of two integers."""
    made = IntList()
    made._items = append(append(made._items, first), second)
    return made


def zeros(count: i64) -> IntList:
    """A list of `count` zeros."""
    made = IntList()
    items = vec[i64](capacity=count)
    for _ in range(count):
        items = append(items, 0)
    made._items = items
    return made


def between(values: IntList, begin: i64, end: i64) -> IntList:
    """A list of the values from place `begin` up to `end`."""
    made = IntList()
    made._items = values._items[begin:end]
    return made


def position(values: IntList, value: i64, low: i64) -> int:
    """Where a value would be put into a sorted list, from place `low` on, before equal ones.

    Most are looked for near the end, so steps from there become longer, up to one that is too long.
    """
    items = values._items
    high = i64(len(items))
    step: i64 = 1
    while high - step > low:
        middle = high - step
        if items[middle] < value:
            low = middle + 1
            break
        high = middle
        step <<= 1
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


class IntHeap:
    """Integers, of which the least is at hand."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items = vec[i64](capacity=64)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: i64) -> int:
        """The least one; `index` is 0."""
        return self._items[index]

    def __bool__(self) -> bool:
        return len(self._items) != 0

    def __iter__(self) -> Iterator[int]:
        return iter(boxed(self._items))


def heappush(heap: IntHeap, value: i64) -> None:
    """Put a value in."""
    items = append(heap._items, value)
    place = i64(len(items)) - 1
    while place:
        above = (place - 1) >> 1
        other = items[above]
        if other <= value:
            break
        items[place] = other
        place = above
    items[place] = value
    heap._items = items


def heappop(heap: IntHeap) -> int:
    """Take the least value out."""
    items, last = pop(heap._items)
    count = i64(len(items))
    if not count:
        heap._items = items
        return last
    least = items[0]
    place: i64 = 0
    below: i64 = 1
    while below < count:
        if below + 1 < count and items[below + 1] < items[below]:
            below += 1
        other = items[below]
        if other >= last:
            break
        items[place] = other
        place = below
        below = 2 * place + 1
    items[place] = last
    heap._items = items
    return least


class IntDict(Generic[T]):
    """A dict by integers, in the order in which its keys came.

    Up to `_FEW` keys and values lie side by side in their order, and are looked through: that is
    quicker than hashing, and touches least memory.  Of more of them, each has a place, from 1 on;
    place 0 begins and ends the order, and keys of one bucket are chained.
    """

    __slots__ = ("_count", "_free", "_keys", "_links", "_mask", "_values")

    def __init__(self) -> None:
        self._count: i64 = 0
        self._free: i64 = 0
        """The first free place; 0: none is."""
        self._mask: i64 = 0
        """Number of buckets, less one; 0: there are none, as keys are few."""
        self._keys = vec[i64]()
        self._links = vec[i32]()
        self._values: list[T | None] = []

    # -- places ------------------------------------------------------------------------------------

    def _find(self, key: i64) -> i64:
        """The place of a key; -1: it is not there."""
        keys, mask = self._keys, self._mask
        if not mask:
            place = self._count - 1
            while place >= 0 and keys[place] != key:
                place -= 1
            return place
        links = self._links
        place = i64(links[4 * _bucket(key, mask) + _HEAD])
        while place and keys[place] != key:
            place = i64(links[4 * place + _CHAIN])
        return place or -1

    def _add(self, key: i64, value: T) -> None:
        """Put in a key that is not there, at the end."""
        if not self._mask:
            if self._count < _FEW:
                self._keys = append(self._keys, key)
                self._values.append(value)
                self._count += 1
                return
            self._grow()
        if not self._free:
            self._grow()
        links, place = self._links, self._free
        self._free = i64(links[4 * place + _CHAIN])
        head = 4 * _bucket(key, self._mask) + _HEAD
        last = i64(links[_BEFORE])
        links[4 * place + _CHAIN] = links[head]
        links[head] = i32(place)
        links[4 * place + _BEFORE] = i32(last)
        links[4 * place + _AFTER] = 0
        links[4 * last + _AFTER] = i32(place)
        links[_BEFORE] = i32(place)
        self._keys[place] = key
        self._values[place] = value
        self._count += 1

    def _remove(self, key: i64) -> T:
        """Take out a key.

        Raises:
            KeyError: it is not there.
        """
        if self._mask:
            return self._unlink(key)
        place = self._find(key)
        if place < 0:
            raise KeyError(key)
        self._keys, _ = pop(self._keys, place)
        self._count -= 1
        value = self._values.pop(place)
        assert value is not None
        return value

    def _unlink(self, key: i64) -> T:
        """Take out a key among many."""
        links, keys = self._links, self._keys
        link = 4 * _bucket(key, self._mask) + _HEAD
        place = i64(links[link])
        while place and keys[place] != key:
            link = 4 * place + _CHAIN
            place = i64(links[link])
        if not place:
            raise KeyError(key)
        links[link] = links[4 * place + _CHAIN]
        before, after = links[4 * place + _BEFORE], links[4 * place + _AFTER]
        links[4 * i64(before) + _AFTER] = after
        links[4 * i64(after) + _BEFORE] = before
        links[4 * place + _CHAIN] = i32(self._free)
        self._free = place
        value = self._values[place]
        self._values[place] = None
        self._count -= 1
        assert value is not None
        return value

    def _grow(self) -> None:
        """Make room for twice as many entries; they keep their order."""
        room = 2 * (self._mask + 1) if self._mask else 2 * _FEW
        keys, values = self._in_order(), self._values_in_order()
        self._count = 0
        self._mask = room - 1
        self._keys = vec[i64](capacity=room + 1)
        self._links = vec[i32](capacity=4 * (room + 1))
        self._values = []
        for place in range(room + 1):
            self._keys = append(self._keys, 0)
            self._values.append(None)
            chain = i32(place + 1) if 0 < place < room else i32(0)
            self._links = append(append(self._links, chain), i32(0))
            self._links = append(append(self._links, i32(0)), i32(0))
        self._free = 1
        for number in range(len(keys)):
            self._add(keys[number], values[number])

    def _in_order(self) -> list[int]:
        if not self._mask:
            return boxed(self._keys)
        keys: list[int] = []
        place = i64(self._links[_AFTER])
        while place:
            keys.append(self._keys[place])
            place = i64(self._links[4 * place + _AFTER])
        return keys

    def _values_in_order(self) -> list[T]:
        values: list[T] = []
        if not self._mask:
            for value in self._values:
                assert value is not None
                values.append(value)
            return values
        place = i64(self._links[_AFTER])
        while place:
            value = self._values[place]
            assert value is not None
            values.append(value)
            place = i64(self._links[4 * place + _AFTER])
        return values

    # -- as of a dict ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count != 0

    def __contains__(self, key: i64) -> bool:
        return self._find(key) >= 0

    def __getitem__(self, key: i64) -> T:
        place = self._find(key)
        if place < 0:
            raise KeyError(key)
        value = self._values[place]
        assert value is not None
        return value

    @overload
    def get(self, key: i64) -> T | None: ...

    @overload
    def get(self, key: i64, default: T) -> T: ...

    def get(self, key: i64, default: T | None = None) -> T | None:
        place = self._find(key)
        return self._values[place] if place >= 0 else default

    def __setitem__(self, key: i64, value: T) -> None:
        place = self._find(key)
        if place >= 0:
            self._values[place] = value
        else:
            self._add(key, value)

    def __delitem__(self, key: i64) -> None:
        self._remove(key)

    def pop(self, key: i64) -> T:
        return self._remove(key)

    def clear(self) -> None:
        self._count = self._free = self._mask = 0
        self._keys = vec[i64]()
        self._links = vec[i32]()
        self._values = []

    def __iter__(self) -> Iterator[int]:
        return iter(self._in_order())

    def __reversed__(self) -> Iterator[int]:
        return reversed(self._in_order())

    def keys(self) -> list[int]:
        return self._in_order()

    def values(self) -> list[T]:
        return self._values_in_order()

    def items(self) -> list[tuple[int, T]]:
        return list(zip(self._in_order(), self._values_in_order(), strict=True))

    def __repr__(self) -> str:
        return repr(dict(self.items()))


def _bucket(key: i64, mask: i64) -> i64:
    folded = (key ^ key >> 31) & _LOW
    return folded * _SPREAD >> _SPREAD_SHIFT & mask


def add_new(entries: IntDict[T], key: i64, value: T) -> None:
    """Put in a key that is not there."""
    entries._add(key, value)


def as_int_dict(entries: object) -> IntDict[Any] | None:
    """An object as an `IntDict`; None: it is none."""
    return entries if isinstance(entries, IntDict) else None


def four(first: i64, second: i64, third: i64, fourth: i64) -> IntList:
    """A list of four integers."""
    made = pair(first, second)
    made._items = append(append(made._items, third), fourth)
    return made


def first_key(entries: IntDict[T]) -> int:
    """The key that came first; there is one."""
    if not entries._count:
        raise KeyError
    if not entries._mask:
        return entries._keys[0]
    return entries._keys[i64(entries._links[_AFTER])]


def take_out(items: list[Any], item: object) -> None:
    """Take an object that is there out of a list."""
    place = 0
    while items[place] is not item:
        place += 1
    items.pop(place)


def to_end(entries: IntDict[T], key: i64) -> None:
    """Let a key that is there be the one that came last."""
    value = entries._remove(key)
    entries._add(key, value)
