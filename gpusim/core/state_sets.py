"""Sets of entries that have a state, such as the lines of a cache: what their kinds share."""

from __future__ import annotations

from collections.abc import Iterator

Gone = tuple[int, int]
"""What went for another entry, by its key, and its state; a state of 0: nothing did."""


class StateSets:
    """Entries by integers, in sets; each has a state other than 0, and a full set lets one go."""

    __slots__ = ()

    def use(self, index: int, key: int) -> int:
        """The state of an entry of a set, which is used; 0: it is not there."""
        raise NotImplementedError

    def look(self, index: int, key: int) -> int:
        """The state of an entry of a set; 0: it is not there.  No use."""
        raise NotImplementedError

    def add(self, index: int, key: int, state: int) -> Gone:
        """Add to the state of an entry of a set, which is used; returns what went for a new one."""
        raise NotImplementedError

    def mark(self, index: int, key: int, state: int) -> None:
        """Add to the state of an entry that is there.  No use."""
        raise NotImplementedError

    def evict(self, index: int) -> Gone:
        """Forget the entry that goes first from a set, which is not empty."""
        raise NotImplementedError

    def remove(self, index: int, key: int) -> int:
        """Forget an entry; returns what its state was."""
        raise NotImplementedError

    def used(self, index: int) -> int:
        """Entries of a set."""
        raise NotImplementedError

    def keys(self) -> Iterator[int]:
        """Keys of all entries, set by set."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything."""
        raise NotImplementedError
