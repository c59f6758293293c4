"""Sets whose least recently used entry goes, side by side in memory, for compiled code alone.

A structure with thousands of small sets, each a dict of its own, spreads over memory: a lookup
waits for half a dozen cache lines.  Here keys, times of use and states of all sets are three
vectors.  They are slow in interpreted code, and `librt` need not be installed for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from gpusim.core.state_sets import Gone, StateSets

FEW_WAYS: Final = 32
"""Ways up to which a set is looked through."""

_FREE: Final[i64] = -0x7FFFFFFFFFFFFFFF
"""The key of a way that is free: none that compiled code has unboxed."""


class LruSets(StateSets):
    """Entries in sets of `ways`; each has a number, under which its key and state are found.

    Args:
        sets, ways: how many sets there are, and entries of each.
    """

    __slots__ = ("_clock", "_keys", "_states", "_times", "ways")

    def __init__(self, sets: i64, ways: i64) -> None:
        self.ways = ways
        self._clock: i64 = 0
        """Uses so far."""
        count = sets * ways
        keys, times = vec[i64](capacity=count), vec[i64](capacity=count)
        states = vec[i64](capacity=count)
        for _ in range(count):
            keys = append(keys, _FREE)
            times = append(times, 0)
            states = append(states, 0)
        self._keys, self._times, self._states = keys, times, states

    def find(self, index: i64, key: i64) -> i64:
        """The number of an entry of a set; -1: it is not there."""
        keys = self._keys
        number = index * self.ways
        end = number + self.ways
        while number < end:
            if keys[number] == key:
                return number
            number += 1
        return -1

    def touch(self, number: i64) -> None:
        """An entry has been used."""
        self._clock += 1
        self._times[number] = self._clock

    def free(self, index: i64) -> i64:
        """The number of a free way of a set; -1: there is none."""
        return self.find(index, _FREE)

    def oldest(self, index: i64) -> i64:
        """The number of the entry that goes from a set, which is not empty."""
        keys, times = self._keys, self._times
        number = index * self.ways
        end = number + self.ways
        found: i64 = -1
        while number < end:
            if keys[number] != _FREE and (found < 0 or times[number] < times[found]):
                found = number
            number += 1
        return found

    def put(self, number: i64, key: i64, state: i64) -> None:
        """Keep an entry in a way, as used now."""
        self._keys[number] = key
        self._states[number] = state
        self.touch(number)

    def forget(self, number: i64) -> None:
        """The way of an entry is free."""
        self._keys[number] = _FREE
        self._states[number] = 0

    def key(self, number: i64) -> int:
        """The key of an entry."""
        return self._keys[number]

    # -- by the keys of entries --------------------------------------------------------------------

    def look(self, index: int, key: int) -> int:
        number = self.find(index, key)
        return self._states[number] if number >= 0 else 0

    def use(self, index: int, key: int) -> int:
        number = self.find(index, key)
        if number < 0:
            return 0
        self.touch(number)
        return self._states[number]

    def add(self, index: int, key: int, state: int) -> Gone:
        number = self.find(index, key)
        if number >= 0:
            self.put(number, key, self._states[number] | i64(state))
            return 0, 0
        number = self.free(index)
        if number >= 0:
            self.put(number, key, state)
            return 0, 0
        number = self.oldest(index)
        gone: Gone = self._keys[number], self._states[number]
        self.put(number, key, state)
        return gone

    def mark(self, index: int, key: int, state: int) -> None:
        number = self.find(index, key)
        self._states[number] = self._states[number] | i64(state)

    def evict(self, index: int) -> Gone:
        number = self.oldest(index)
        gone: Gone = self._keys[number], self._states[number]
        self.forget(number)
        return gone

    def remove(self, index: int, key: int) -> int:
        number = self.find(index, key)
        if number < 0:
            return 0
        state = self._states[number]
        self.forget(number)
        return state

    def keys(self) -> Iterator[int]:
        sets = len(self._keys) // self.ways
        return iter([self.key(number) for one in range(sets) for number in self.in_order(one)])

    def clear(self) -> None:
        for number in range(i64(len(self._keys))):
            self.forget(number)

    def used(self, index: int) -> int:
        keys, count = self._keys, i64(0)
        first = i64(index) * self.ways
        for number in range(first, first + self.ways):
            count += keys[number] != _FREE
        return count

    def in_order(self, index: i64) -> list[int]:
        """Numbers of the entries of a set, the least recently used one first."""
        times, first = self._times, index * self.ways
        found = [
            number for number in range(first, first + self.ways) if self._keys[number] != _FREE
        ]
        return sorted(found, key=lambda number: int(times[number]))
