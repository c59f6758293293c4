"""MSHRs of an L2 bank that follow sectors: one for each sector on its way, with room for some.

So are those of Accel-Sim's sectored caches, whose requests ask for a sector each.  One that asks
for several takes a place in the MSHR of each.
"""

from __future__ import annotations

from typing import Final

from gpusim.core.unboxed import IntDict

ROOM: Final = 0
"""There is a place."""
MERGE_LIST: Final = 1
"""The MSHR of a sector that is on its way has no room."""
REGISTERS: Final = 2
"""All MSHRs are taken."""

_COUNT_BITS: Final = 15
_COUNT: Final = (1 << _COUNT_BITS) - 1
"""Bits of a number of requests, so that those of four sectors are one integer, and their mask."""


class SectorPlaces:
    """Places for the sectors that requests miss.

    Args:
        registers: sectors that may be on their way.
        merge: requests that wait for one of them; more than `_COUNT` have no room.
    """

    def __init__(self, registers: int, merge: int) -> None:
        self._registers = registers
        self._merge = min(merge, _COUNT)
        self._taken = 0
        """Sectors on their way."""
        self._waiting: IntDict[int] = IntDict()
        """By line, how many requests wait for each of its sectors, the first one lowest."""

    def __str__(self) -> str:
        return f"{self._taken} of {self._registers} MSHRs of sectors"

    def full(self, line: int, missing: int) -> int:
        """Why a miss on some sectors of a line has to wait; `ROOM` if it need not."""
        counts, new = self._waiting.get(line, 0), 0
        while missing:
            if missing & 1:
                count = counts & _COUNT
                if count >= self._merge:
                    return MERGE_LIST
                new += count == 0
            missing >>= 1
            counts >>= _COUNT_BITS
        return REGISTERS if new and self._taken + new > self._registers else ROOM

    def take(self, line: int, missing: int) -> None:
        """A request waits for these sectors of a line."""
        counts = rest = self._waiting.get(line, 0)
        one = 1
        while missing:
            if missing & 1:
                self._taken += rest & _COUNT == 0
                counts += one
            missing >>= 1
            rest >>= _COUNT_BITS
            one <<= _COUNT_BITS
        self._waiting[line] = counts

    def give_back(self, line: int, came: int) -> None:
        """These sectors of a line have come: none of their requests waits for them any more."""
        counts = rest = self._waiting.get(line, 0)
        if not counts:
            return
        shift = 0
        while came:
            count = rest & _COUNT
            if came & 1 and count:
                self._taken -= 1
                counts -= count << shift
            came >>= 1
            rest >>= _COUNT_BITS
            shift += _COUNT_BITS
        if counts:
            self._waiting[line] = counts
        else:
            del self._waiting[line]
