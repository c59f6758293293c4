"""When an L2 bank was stalled, and why: what waits in the crossbar behind it waits for the bank."""

from __future__ import annotations

from typing import Final

from gpusim.core.blame import Blames
from gpusim.core.cut import Pieces, Trailed
from gpusim.core.engine import NEVER
from gpusim.core.states import State

_L2: Final = int(State.L2)
_INTERCONNECT: Final = int(State.INTERCONNECT)


class BankStalls(Blames):
    """Intervals in which a bank looked nothing up.

    Attributes:
        cause: of the stall under way (`gpusim.core.blame.Blame`); 0: there is none.
    """

    __slots__ = ("_since", "cause")

    def __init__(self) -> None:
        super().__init__()
        self.cause = 0
        self._since = 0

    def begin(self, cause: int, now: int) -> None:
        """From `now` on, the bank waits."""
        if self.cause:
            self.end(now)
        self.cause = cause
        self._since = now

    def end(self, now: int) -> None:
        """The bank looks again what it can do."""
        if self._since < now:
            self.note(self.cause, self._since, now)
        self.cause = 0


class BankWait(Trailed):
    """A request's wait for a stalled bank, for its trail: in the crossbar, then next at the bank.

    Args:
        stalls: of the bank.
        arrived: cycle in which the request came to the bank's end of the crossbar.
        next_at: cycle in which it was next; from then on it was in the L2 cache.

    Attributes:
        until: cycle in which the bank took it, which stalls of the bank no longer delay.
    """

    __slots__ = ("_arrived", "_next_at", "_stalls", "until")

    def __init__(self, stalls: BankStalls, arrived: int, next_at: int) -> None:
        self.until = NEVER
        self._stalls = stalls
        self._arrived = arrived
        self._next_at = next_at

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        next_at = max(self._next_at, start)
        if next_at < end:
            pieces.add(_L2, next_at, end)
            pieces.blame_those_of(self._stalls, _L2, next_at, min(end, self.until))
            end = next_at
        if start < end:
            pieces.add(_INTERCONNECT, start, end)
            pieces.blame_those_of(self._stalls, _INTERCONNECT, max(start, self._arrived), end)
