"""Miss-status holding registers: one outstanding miss a page or line, everyone else merges."""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Admission(IntEnum):
    """What became of a miss."""

    NEW = 0
    """It took a free register and has to be sent on."""
    MERGED = 1
    """It waits for one that is already under way."""
    FULL = 2
    """No register, or no room in the right one: its sender has to wait."""


class Mshrs(Generic[T]):
    """A file of `capacity` registers, each with room for `merge` requests.

    `pending` maps a key (page tag or line) to those who wait for it; the first one is the request
    that is under way.
    """

    __slots__ = ("capacity", "merge", "pending")

    def __init__(self, capacity: int, merge: int) -> None:
        self.capacity = capacity
        self.merge = merge
        self.pending: dict[int, list[T]] = {}

    def __len__(self) -> int:
        return len(self.pending)

    def admit(self, key: int, item: T) -> Admission:
        """Register a miss of `item` on `key`."""
        waiting = self.pending.get(key)
        if waiting is not None:
            if len(waiting) >= self.merge:
                return Admission.FULL
            waiting.append(item)
            return Admission.MERGED
        if len(self.pending) >= self.capacity:
            return Admission.FULL
        self.pending[key] = [item]
        return Admission.NEW

    def release(self, key: int) -> list[T]:
        """Everyone who waits for `key`, in order; frees the register.

        Raises:
            KeyError: nobody waits for it.
        """
        return self.pending.pop(key)
