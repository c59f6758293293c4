"""The rate at which the thread-block scheduler starts blocks."""

from __future__ import annotations


class StartRate:
    """The cycle in which the next block may be placed.

    Time is counted in parts of a cycle, one for each warp that is started in it: blocks of few
    warps share a cycle, and what a block of many warps leaves of its last cycle is the next one's.

    Args:
        warps_a_cycle: warps that are started a cycle; None: one block a cycle, of any size.

    Attributes:
        due: the first cycle in which a block may be placed.
    """

    def __init__(self, warps_a_cycle: int | None) -> None:
        self.due = 0
        self._warps_a_cycle = warps_a_cycle
        self._started = 0

    def start(self, warps: int, now: int) -> None:
        """A block of `warps` warps is placed in cycle `now`, which is `due` or later."""
        rate = self._warps_a_cycle
        if rate is None:
            self.due = now + 1
            return
        begin = self._started if now == self.due else now * rate
        self._started = begin + warps
        self.due = -(-self._started // rate)
