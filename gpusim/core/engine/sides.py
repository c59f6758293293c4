"""Two sides of a machine, each with an event loop, of which one may run ahead of the other.

What the leading side tells in a cycle arrives on the other one a fixed number of cycles later, so
that one may run as far ahead; what it tells back is known in the same cycle.  Within a cycle the
following side comes first, and each side begins a cycle with what it has been told, in its order.
So both loops do the same in the same order, whether one process runs them in turn (`Together`) or
two run them at once (`gpusim.core.engine.apart`).

What is told are words: a queue of integers, in which each message begins with its cycle.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from gpusim.core.engine.loop import NEVER, EventLoop
from gpusim.core.unboxed import Words

BREATH: Final = 1 << 12
"""Cycles between two breaths."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Hearer:
    """What a side does with what it is told."""

    def hear(self, words: Words) -> None:
        """Take one message out of the queue, whose cycle has been taken out."""
        raise NotImplementedError


class Side:
    """One side.

    Args:
        loop: its event loop.
        words: what it is told.
        after: cycles after which that arrives.
        hearer: what takes it.
    """

    __slots__ = ("_hearer", "after", "loop", "words")

    def __init__(self, loop: EventLoop, words: Words, after: int, hearer: Hearer) -> None:
        self.loop = loop
        self.words = words
        self.after = after
        self._hearer = hearer

    def next_cycle(self) -> int:
        """The first cycle in which something happens here, as far as it is known; or `NEVER`."""
        cycle = self.loop.first_cycle()
        return min(cycle, self.words.first() + self.after) if self.words else cycle

    def run_cycle(self, cycle: int) -> None:
        """Do all that happens in a cycle, which is the next one."""
        words, loop = self.words, self.loop
        loop.enter(cycle)
        if words and words.first() + self.after <= cycle:
            while words and words.first() + self.after <= cycle:
                words.take()
                self._hearer.hear(words)
            words.tidy()
        loop.finish_cycle()


@mypyc_attr(allow_interpreted_subclasses=True)
class Sides:
    """What runs both sides."""

    def run_all(self) -> None:
        """Run both until neither has anything left to do."""
        raise NotImplementedError


class Together(Sides):
    """Both sides in one process: the following one always runs as far ahead as it may.

    Args:
        leading, following: the sides.
    """

    def __init__(self, leading: Side, following: Side) -> None:
        self.leading = leading
        self.following = following

    def run_all(self) -> None:
        leading, following = self.leading, self.following
        ahead = following.after
        until_breath = BREATH
        while True:
            cycle = leading.next_cycle()
            behind = following.next_cycle()
            while behind < cycle + ahead and behind != NEVER:
                following.run_cycle(behind)
                cycle = leading.next_cycle()
                behind = following.next_cycle()
            if cycle == NEVER:
                return
            leading.run_cycle(cycle)
            until_breath -= 1
            if not until_breath:
                until_breath = BREATH
                leading.loop.breathe()
