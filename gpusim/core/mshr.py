"""Miss-status holding registers: one outstanding miss a page or line, everyone else merges."""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar

from mypy_extensions import mypyc_attr

T = TypeVar("T")

Admission = Literal[0, 1, 2]
"""What became of a miss."""

NEW: Final = 0
"""It took a free register and has to be sent on."""
MERGED: Final = 1
"""It waits for one that is already under way."""
FULL: Final = 2
"""No register, or no room in the right one: its sender has to wait."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Mshrs(Generic[T]):
    """A file of `capacity` registers, each with room for `merge` requests.

    `pending` maps a key (page tag or line) to the requests that wait for it; the first one
    is under way.
    """

    __slots__ = ("capacity", "merge", "pending")

    def __init__(self, capacity: int, merge: int) -> None:
        self.capacity = capacity
        self.merge = merge
        self.pending: dict[int, list[T]] = {}

    def __len__(self) -> int:
        return len(self.pending)

    def merges(self, key: int) -> bool:
        """Whether a miss on `key` needs no register of its own, and nothing is sent on for it."""
        return key in self.pending

    def admit(self, key: int, item: T) -> Admission:
        """Register a miss of `item` on `key`."""
        pending = self.pending
        if key in pending:
            waiting = pending[key]
            if len(waiting) >= self.merge:
                return FULL
            waiting.append(item)
            return MERGED
        if len(pending) >= self.capacity:
            return FULL
        pending[key] = [item]
        return NEW

    def release(self, key: int) -> list[T]:
        """Everyone who waits for `key`, in order; frees the register.

        Raises:
            KeyError: no request waits for it.
        """
        waiting = self.pending[key]
        del self.pending[key]
        return waiting


@mypyc_attr(allow_interpreted_subclasses=True)
class SeparateMshrs(Mshrs[T]):
    """A register for each request: nobody merges, and whoever came first is answered first."""

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
        """Register a miss of `item` on `key`, whoever else waits for it."""
        if self._taken >= self.capacity:
            return FULL
        self._taken += 1
        self.pending.setdefault(key, []).append(item)
        return NEW

    def release(self, key: int) -> list[T]:
        """The first one that waits for `key`; frees its register."""
        waiting = self.pending[key]
        first = waiting.pop(0)
        if not waiting:
            del self.pending[key]
        self._taken -= 1
        return [first]
