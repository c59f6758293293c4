"""What a load/store unit was busy with, cycle by cycle: why those in its queue waited."""

from __future__ import annotations

from bisect import bisect_left

from gpusim.core.request import Piece

_LONG = 8192
"""Number of entries at which the older half is forgotten: who asks about a time before is told
the oldest state that is left."""


class History:
    """States of the unit, and the cycles in which they began; travellers link to it."""

    __slots__ = ("_cycles", "_states")

    def __init__(self, state: int) -> None:
        self._states = [state]
        self._cycles = [0]

    def enter(self, state: int, now: int) -> None:
        """From `now` on, the unit is in `state`; of several in one cycle, the last one counts.

        A single cycle of something else in between is not kept: a unit that is stalled before
        each transaction counts as stalled throughout.
        """
        states, cycles = self._states, self._cycles
        if states[-1] == state:
            return
        if len(states) > 1 and states[-2] == state and now - cycles[-1] <= 1:
            states.pop()
            cycles.pop()
        elif cycles[-1] == now:
            states[-1] = state
        else:
            states.append(state)
            cycles.append(now)
            if len(states) > _LONG:
                del states[: _LONG // 2], cycles[: _LONG // 2]

    def cut(self, start: int, end: int, pieces: list[Piece]) -> None:
        """Append the pieces of ``[start, end)``, the last one first."""
        states, cycles = self._states, self._cycles
        if start >= end:
            return
        entry = bisect_left(cycles, end, 1) - 1
        while entry and (begin := cycles[entry]) > start:
            pieces.append((states[entry], begin, end))
            end = begin
            entry -= 1
        pieces.append((states[entry], start, end))
