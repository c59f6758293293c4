"""Spells: intervals of cycles, and how many of their cycles lie between two."""

from __future__ import annotations

from typing import Final

from gpusim.core.unboxed import between, position, zeros

_LONG: Final = 4096
"""Number of spells at which the older half is dropped: cycles of those are no longer counted."""


class Spells:
    """Intervals that do not overlap, in their order, each noted when it is over.

    Attributes:
        end: of the last one; -1: there is none.
    """

    __slots__ = ("_begins", "_sums", "end")

    def __init__(self) -> None:
        self.end = -1
        self._begins = zeros(0)
        self._sums = zeros(1)
        """Cycles of all spells before each, and last of all."""

    def add(self, begin: int, end: int) -> None:
        """Note the cycles ``[begin, end)``; where they adjoin the last spell, the two are one."""
        sums = self._sums
        if self.end == begin:
            sums[-1] += end - begin
        else:
            self._begins.append(begin)
            sums.append(sums[-1] + end - begin)
            if len(sums) > _LONG:
                self._begins = between(self._begins, _LONG // 2, len(self._begins))
                self._sums = between(sums, _LONG // 2, len(sums))
        self.end = end

    def add_those_of(self, other: Spells, start: int, end: int) -> None:
        """Note all spells of another one that lie in ``[start, end)``, as far as they do."""
        if other.end <= start:
            return
        begins, sums = other._begins, other._sums
        place = max(position(begins, start, 0) - 1, 0)
        while place < len(begins) and (begin := begins[place]) < end:
            until = min(begin + sums[place + 1] - sums[place], end)
            if begin < start:
                begin = start
            if begin < until:
                self.add(begin, until)
            place += 1

    def within(self, start: int, end: int) -> int:
        """How many cycles of spells lie in ``[start, end)``."""
        if self.end <= start:
            return 0
        until = self._sums[-1] if self.end <= end else self._before(end)
        return until - self._before(start)

    def _before(self, cycle: int) -> int:
        """Cycles of spells before a cycle."""
        begins, sums = self._begins, self._sums
        place = position(begins, cycle, 0)
        if not place:
            return sums[0]
        return min(sums[place], sums[place - 1] + cycle - begins[place - 1])
