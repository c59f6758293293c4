"""MSHRs of an L2 bank that follow sectors: one for each sector on its way, with room for some.

So are those of Accel-Sim's sectored caches, whose requests ask for a sector each.  One that asks
for several takes a place in the MSHR of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpusim.core.warp_program import COVERED_SHIFT

ROOM: Final = 0
"""There is a place."""
MERGE_LIST: Final = 1
"""The MSHR of a sector that is on its way has no room."""
REGISTERS: Final = 2
"""All MSHRs are taken."""


class SectorPlaces:
    """Places for the sectors that requests miss.

    Args:
        registers: sectors that may be on their way.
        merge: requests that wait for one of them.
    """

    def __init__(self, registers: int, merge: int) -> None:
        self._registers = registers
        self._merge = merge
        self._waiting: dict[int, int] = {}

    def __str__(self) -> str:
        return f"{len(self._waiting)} of {self._registers} MSHRs of sectors"

    def full(self, line: int, missing: int) -> int:
        """Why a miss on some sectors of a line has to wait; `ROOM` if it need not."""
        waiting, new = self._waiting, 0
        for sector in _sectors(line, missing):
            count = waiting.get(sector, 0)
            if count >= self._merge:
                return MERGE_LIST
            new += not count
        return REGISTERS if new and len(waiting) + new > self._registers else ROOM

    def take(self, line: int, missing: int) -> None:
        """A request waits for these sectors of a line."""
        waiting = self._waiting
        for sector in _sectors(line, missing):
            waiting[sector] = waiting.get(sector, 0) + 1

    def give_back(self, line: int, came: int) -> None:
        """These sectors of a line have come: none of their requests waits for them any more."""
        for sector in _sectors(line, came):
            self._waiting.pop(sector, None)


def _sectors(line: int, mask: int) -> Iterator[int]:
    """Numbers of the sectors of a line in a mask, among those of all lines."""
    first = line << COVERED_SHIFT.bit_length() - 1
    while mask:
        lowest = mask & -mask
        yield first + lowest.bit_length() - 1
        mask ^= lowest
