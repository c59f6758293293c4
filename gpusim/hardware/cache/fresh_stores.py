"""Lines of an L2 bank that have just been stored to, which are not loaded at once."""

from __future__ import annotations

from typing import Final

from gpusim.core.unboxed import IntDict

_MOST: Final = 1024
"""Lines after which those that may be loaded are forgotten."""


class FreshStores:
    """When the lines that were stored to may be loaded.

    Where several parts of a cache have a line, a store is not seen by a load at once.

    Attributes:
        cycles: from a store to a load of its line; 0: nothing is followed.
    """

    __slots__ = ("_until", "cycles")

    def __init__(self, cycles: int) -> None:
        self.cycles = cycles
        self._until: IntDict[int] = IntDict()

    def stored(self, line: int, now: int) -> None:
        """A line has been stored to."""
        until = self._until
        if len(until) >= _MOST:
            for known in [known for known, cycle in until.items() if cycle <= now]:
                del until[known]
        until[line] = now + self.cycles

    def loadable(self, line: int) -> int:
        """The cycle from which on a line may be loaded."""
        return self._until.get(line, 0)
