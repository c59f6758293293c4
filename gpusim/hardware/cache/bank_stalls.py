"""When an L2 bank was stalled, and why: what waits in the crossbar behind it waits for the bank."""

from __future__ import annotations

from gpusim.core.blame import blamed
from gpusim.core.request import CONTINUES
from gpusim.core.unboxed import IntList

Interval = tuple[int, int, int]
"""First cycle, cycle after the last, `gpusim.core.blame.Blame`."""


class BankStalls:
    """Intervals in which a bank looked nothing up, as far as requests that are there met them.

    Attributes:
        cause: of the stall under way (`gpusim.core.blame.Blame`); 0: there is none.
        intervals: those that are over, in their order.
    """

    __slots__ = ("_since", "cause", "intervals")

    def __init__(self) -> None:
        self.cause = 0
        self.intervals: list[Interval] = []
        self._since = 0

    def begin(self, cause: int, now: int) -> None:
        """From `now` on, the bank waits."""
        if self.cause:
            self.end(now)
        self.cause = cause
        self._since = now

    def end(self, now: int) -> None:
        """The bank looks again what it can do; stalls of one cause that adjoin are one."""
        intervals, since, cause = self.intervals, self._since, self.cause
        self.cause = 0
        if since == now:
            return
        if intervals and intervals[-1][1] == since and intervals[-1][2] == cause:
            since = intervals.pop()[0]
        intervals.append((since, now, cause))

    def forget(self, before: int) -> None:
        """Drop what was over when the oldest request that is there arrived."""
        intervals = self.intervals
        while intervals and intervals[0][1] <= before:
            del intervals[0]

    def mark(self, trail: IntList, start: int) -> None:
        """Note in a trail which part of its last state is the bank's, from cycle `start` on.

        The last state stays what it is: its pieces are marked as such of one.
        """
        state, noted = trail[-2] & ~CONTINUES, trail[-1]
        for since, end, cause in self.intervals:
            if end <= start:
                continue
            begin = max(since, start)
            marked = blamed(state, cause)
            if noted != begin:
                trail.append(marked | CONTINUES)
                trail.append(begin)
            elif len(trail) > 2 and trail[-4] & ~CONTINUES == marked:
                trail[-1] = noted = end
                continue
            else:
                trail[-2] = marked | trail[-2] & CONTINUES
            trail.append(state | CONTINUES)
            trail.append(end)
            noted = end
