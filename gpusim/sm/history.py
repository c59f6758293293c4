"""What a load/store unit was busy with, cycle by cycle: why those in its queue waited."""

from __future__ import annotations

from bisect import bisect_right

_LONG = 8192
"""Length of the record at which its older half is forgotten: who has waited for longer than that
is told the oldest state that is left."""


class History:
    """States and the cycles in which they began, as in a trail (`gpusim.request`)."""

    __slots__ = ("_trail",)

    def __init__(self, state: int) -> None:
        self._trail = [state, 0]

    def enter(self, state: int, now: int) -> None:
        """From `now` on, the unit is in `state`; of several in one cycle, the last one counts.

        A single cycle of something else in between is not kept: a unit that is stalled before
        each transaction counts as stalled throughout.
        """
        trail = self._trail
        if trail[-2] == state:
            return
        if now - trail[-1] <= 1 and len(trail) > 2 and trail[-4] == state:
            del trail[-2:]
        elif trail[-1] == now:
            trail[-2] = state
        else:
            trail += (state, now)
            if len(trail) > _LONG:
                del trail[: _LONG // 2]

    def since(self, start: int) -> list[int]:
        """The trail from cycle `start` to this one: a new list."""
        trail = self._trail
        if trail[-1] <= start:
            return [trail[-2], start]
        count = bisect_right(range(len(trail) // 2), start, key=lambda entry: trail[2 * entry + 1])
        piece = trail[2 * max(count - 1, 0) :]
        piece[1] = start
        return piece
