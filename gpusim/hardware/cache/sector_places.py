"""MSHRs of an L2 bank that follow sectors: one for each sector on its way, with room for some.

So are those of Accel-Sim's sectored caches, whose requests ask for a sector each.  One that asks
for several takes a place in the MSHR of each.
"""

from __future__ import annotations

from typing import Final

from gpusim.core.unboxed import IntDict
from gpusim.core.warp_program import COVERED_SHIFT

ROOM: Final = 0
"""There is a place."""
MERGE_LIST: Final = 1
"""The MSHR of a sector that is on its way has no room."""
REGISTERS: Final = 2
"""All MSHRs are taken."""

_LINE_SHIFT: Final = COVERED_SHIFT.bit_length() - 1
"""Above the number of a sector in its line, the line."""


class SectorPlaces:
    """Places for the sectors that requests miss.

    Args:
        registers: sectors that may be on their way.
        merge: requests that wait for one of them.
    """

    def __init__(self, registers: int, merge: int) -> None:
        self._registers = registers
        self._merge = merge
        self._waiting: IntDict[int] = IntDict()
        """Requests by sector, numbered among those of all lines."""

    def __str__(self) -> str:
        return f"{len(self._waiting)} of {self._registers} MSHRs of sectors"

    def full(self, line: int, missing: int) -> int:
        """Why a miss on some sectors of a line has to wait; `ROOM` if it need not."""
        waiting, new = self._waiting, 0
        sector = line << _LINE_SHIFT
        while missing:
            if missing & 1:
                count = waiting.get(sector, 0)
                if count >= self._merge:
                    return MERGE_LIST
                new += not count
            missing >>= 1
            sector += 1
        return REGISTERS if new and len(waiting) + new > self._registers else ROOM

    def take(self, line: int, missing: int) -> None:
        """A request waits for these sectors of a line."""
        waiting = self._waiting
        sector = line << _LINE_SHIFT
        while missing:
            if missing & 1:
                waiting[sector] = waiting.get(sector, 0) + 1
            missing >>= 1
            sector += 1

    def give_back(self, line: int, came: int) -> None:
        """These sectors of a line have come: none of their requests waits for them any more."""
        waiting = self._waiting
        sector = line << _LINE_SHIFT
        while came:
            if came & 1 and sector in waiting:
                del waiting[sector]
            came >>= 1
            sector += 1
