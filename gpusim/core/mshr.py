"""Miss-status holding registers: one outstanding miss a page or line; later misses on it merge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, Literal, TypeVar

from gpusim.core.unboxed import IntDict, add_new

T = TypeVar("T")

Admission = Literal[0, 1, 2]
"""What became of a miss."""

NEW: Final = 0
"""The miss took a free register and has to be sent on."""
MERGED: Final = 1
"""The miss waits for a request that is under way."""
FULL: Final = 2
"""No register, or no room in the right one: its sender has to wait."""


class Mshrs(Generic[T]):
    """A file of `capacity` registers, each with room for `merge` requests of one key.

    A key is a tagged page or a line; the first request of a register is the one under way.
    """

    __slots__ = ("_waiting", "capacity", "merge")

    def __init__(self, capacity: int, merge: int) -> None:
        self.capacity = capacity
        self.merge = merge
        self._waiting: IntDict[list[T]] = IntDict()

    def __len__(self) -> int:
        """Registers that are taken."""
        return len(self._waiting)

    def holds(self, key: int) -> bool:
        """Whether a request waits for `key`."""
        return key in self._waiting

    def merges(self, key: int) -> bool:
        """Whether a miss on `key` needs no register of its own, and nothing is sent on for it."""
        return key in self._waiting

    def first(self, key: int) -> T:
        """The request on `key` that is under way.

        Raises:
            KeyError: no request waits for it.
        """
        return self._waiting[key][0]

    def outstanding(self) -> Iterable[int]:
        """The pages or lines that requests wait for, the oldest first."""
        return self._waiting.keys()

    def waiting(self, key: int) -> list[T]:
        """A copy of the requests that wait for `key`, in order; empty: none does."""
        found = self._waiting.get(key)
        return [] if found is None else list(found)

    def admit(self, key: int, item: T) -> Admission:
        """Register a miss of `item` on `key`."""
        waiting = self._waiting
        merged = waiting.get(key)
        if merged is not None:
            if len(merged) >= self.merge:
                return FULL
            merged.append(item)
            return MERGED
        if len(waiting) >= self.capacity:
            return FULL
        add_new(waiting, key, [item])
        return NEW

    def join(self, key: int, item: T) -> None:
        """Let `item`, which holds a register elsewhere, wait for `key` past both limits."""
        self._put_last(key, item)

    def _put_last(self, key: int, item: T) -> None:
        waiting = self._waiting.get(key)
        if waiting is None:
            add_new(self._waiting, key, [item])
        else:
            waiting.append(item)

    def release(self, key: int) -> list[T]:
        """The requests that wait for `key`, in order; frees the register.

        Raises:
            KeyError: no request waits for it.
        """
        return self._waiting.pop(key)

    def keep(self, key: int, items: list[T]) -> None:
        """Take the register of `key`, just released, again for the items that still wait."""
        self._waiting[key] = items


class SeparateMshrs(Mshrs[T]):
    """A register for each request: none merge, and an answer is for the first that waits."""

    __slots__ = ("_taken",)

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, 1)
        self._taken = 0

    def __len__(self) -> int:
        return self._taken

    def merges(self, key: int) -> bool:
        """Never."""
        return False

    def admit(self, key: int, item: T) -> Admission:
        """Register a miss of `item` on `key`, whatever else waits for it."""
        if self._taken >= self.capacity:
            return FULL
        self._taken += 1
        self._put_last(key, item)
        return NEW

    def join(self, key: int, item: T) -> None:
        self._taken += 1
        super().join(key, item)

    def release(self, key: int) -> list[T]:
        """The first request that waits for `key`; frees its register."""
        waiting = self._waiting[key]
        self._taken -= 1
        if len(waiting) > 1:
            return [waiting.pop(0)]
        del self._waiting[key]
        return waiting

    def keep(self, key: int, items: list[T]) -> None:
        self._taken += len(items)
        self._waiting[key] = items + self.waiting(key)
