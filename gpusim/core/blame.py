"""What is to blame for waiting: when something was stalled, and why.

What is stalled keeps one history of that; what waits behind it only remembers since when, and asks
when its wait is booked.  The state of the warp stays what it is, so that sums over states do not
change; how much of a state was whose fault is summed apart.
"""

from __future__ import annotations

from enum import IntEnum

from gpusim.core.cut import Pieces
from gpusim.core.spells import Spells


class Blame(IntEnum):
    """Why an L2 bank looks nothing up."""

    MERGE_LIST = 1
    """The MSHR of a line or sector has no room for one more request."""
    MSHRS = 2
    """All MSHRs are taken."""
    DRAM = 3
    """The way to DRAM is full."""
    REPLIES = 4
    """The way back to the SMs is full."""


class Blames:
    """When something was stalled, by cause.

    Attributes:
        until: when the latest stall that is over ended; 0: there was none.
        follower: notes the same; None: nothing does.
    """

    __slots__ = ("_spells", "follower", "until")

    def __init__(self) -> None:
        self.until = 0
        self.follower: Blames | None = None
        self._spells = [Spells() for _ in Blame]

    def note(self, blame: int, begin: int, end: int) -> None:
        """In the cycles ``[begin, end)``, the latest so far, a `Blame` was the cause."""
        self._spells[blame - 1].add(begin, end)
        self.until = end
        if self.follower is not None:
            self.follower.note(blame, begin, end)

    def note_those_of(self, other: Blames, start: int, end: int) -> None:
        """Note what was the cause for another one in ``[start, end)``, the latest so far."""
        for index, spells in enumerate(self._spells):
            spells.add_those_of(other._spells[index], start, end)
        self.until = end

    def book(self, state: int, start: int, end: int, pieces: Pieces) -> None:
        """Tell pieces of a state, which lasted for ``[start, end)``, what is to blame for it."""
        if self.until <= start or start >= end:
            return
        for index, spells in enumerate(self._spells):
            if spells.end > start and (cycles := spells.within(start, end)):
                pieces.blame(state, index + 1, cycles)
