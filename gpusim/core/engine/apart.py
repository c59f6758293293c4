"""Two sides of a machine in two processes, which exchange words through memory that they share.

The leading side says up to which cycle it has nothing more to tell, unless it is told something
itself; the following one, up to which cycle it has told everything.  Neither waits for the other
before that.  A question of the leading side is answered when the following one has come as far as
it may: where `gpusim.core.engine.sides.Together` has it, too, at that moment.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusim.core.engine.line import Line
from gpusim.core.engine.loop import NEVER
from gpusim.core.engine.sides import BREATH, Side, Sides
from gpusim.core.unboxed import Words


class Leading(Sides):
    """The leading side, whose other side is in another process.

    Args:
        side: this one.
        told: what it tells.
        line: to the other process.
        ahead: cycles after which that arrives there.
    """

    def __init__(self, side: Side, told: Words, line: Line, ahead: int) -> None:
        self._side = side
        self._told = told
        self._line = line
        self._often = max(ahead // 4, 1)
        self._said = -1
        """The cycle up to which it has said that it tells nothing more."""

    def run_all(self) -> None:
        side, line = self._side, self._line
        until_breath = BREATH
        while True:
            cycle = side.next_cycle()
            while cycle > line.until:
                if cycle == NEVER and line.until >= NEVER - 1:
                    return
                self._say(cycle - 1)
                line.wait(side.words)
                cycle = side.next_cycle()
            side.run_cycle(cycle)
            line.fetch(side.words)
            if (cycle := side.next_cycle() - 1) - self._said >= self._often:
                self._say(cycle)
            until_breath -= 1
            if not until_breath:
                until_breath = BREATH
                side.loop.breathe()

    def _say(self, until: int) -> None:
        """Tell what there is to tell, and that nothing more comes up to a cycle."""
        if until != self._said or self._told or self._line.unsaid:
            self._said = until
            self._line.post(self._told, until, asks=False)

    def ask(self) -> None:
        """Let the other side stop where it has come as far as it may, to answer a question."""
        now = self._side.loop.now
        self._said = now - 1
        self._line.post(self._told, now - 1, asks=True)


class Following(Sides):
    """The following side, whose other side is in another process; it runs until that ends it.

    Args:
        side: this one.
        told: what it tells.
        line: to the other process.
        answer: answers a question.
    """

    def __init__(self, side: Side, told: Words, line: Line, answer: Callable[[], None]) -> None:
        self._side = side
        self._told = told
        self._line = line
        self._answer = answer
        self._often = max(side.after // 4, 1)
        self._said = -1

    def run_all(self) -> None:
        side, line, told = self._side, self._line, self._told
        while True:
            cycle = side.next_cycle()
            while cycle > (bound := self._bound()):
                if told or bound != self._said:
                    self._said = bound
                    line.post(told, bound, asks=False)
                if line.asked:
                    line.asked = False
                    self._answer()
                line.wait(side.words)
                cycle = side.next_cycle()
            side.run_cycle(cycle)
            new = cycle - self._said
            if new >= self._often or (told and cycle - line.until < 2 * self._often):
                self._said = cycle  # soon, where the other side is near
                line.post(told, cycle, asks=False)
            line.fetch(side.words)

    def _bound(self) -> int:
        """The cycle up to which this side may go on."""
        until = self._line.bound()
        if self._told:
            until = min(until, self._told.first() - 1)
        return min(until + self._side.after, NEVER - 1)
