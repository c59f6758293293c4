"""A history of a load/store unit's states, cycle by cycle: why instructions in its queue waited."""

from __future__ import annotations

from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from gpusim.core.blame import Blames
from gpusim.core.cut import Pieces, Trailed
from gpusim.core.engine import EventLoop, Stall, Wake, Wakeable
from gpusim.core.roots import Roots
from gpusim.core.states import State
from gpusim.core.unboxed import between, position, zeros

_CACHE: Final = int(State.CACHE)
_INTERCONNECT: Final = int(State.INTERCONNECT)
_CREDIT: Final = int(State.CREDIT)
_MSHR: Final = int(State.MSHR)
_TLB: Final = int(State.TLB)
_LONG: Final = 8192
"""Number of entries at which the older half is dropped: a query about an earlier time then gets
the oldest state that is left."""


class Hit(Trailed):
    """A transaction that hit the L1 cache, for its trail.

    Args:
        history: of the unit in whose queue it was.

    Attributes:
        hit_at: cycle in which it hit; from then on it was in the cache.
    """

    __slots__ = ("_history", "hit_at")

    def __init__(self, history: History) -> None:
        self._history = history
        self.hit_at = 0

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        hit_at = max(self.hit_at, start)
        if hit_at < end:
            pieces.add(_CACHE, hit_at, end)
            end = hit_at
        self._history.cut(start, end, pieces)


class History(Trailed):
    """States of the unit, and the cycles in which they began; travellers link to it.

    Attributes:
        blames: what is to blame for waiting for the crossbar.
        roots: what it waited for that held what the unit waited for.
    """

    __slots__ = ("_cycles", "_hit", "_latest", "_states", "blames", "roots")

    def __init__(self, state: int) -> None:
        self._hit = Hit(self)
        self._latest = state
        self._states = zeros(1)
        self._cycles = zeros(1)
        self._states[0] = state
        self.blames = Blames()
        self.roots = Roots()

    def hit(self, hit_at: int) -> Hit:
        """A transaction that hit in a cycle, up to the next call."""
        self._hit.hit_at = hit_at
        return self._hit

    def enter(self, state: int, now: int) -> None:
        """From `now` on, the unit is in `state`; of several in one cycle, the last one counts.

        A single cycle of something else in between is not kept: a unit that is stalled before
        each transaction counts as stalled throughout.
        """
        if self._latest == state:
            return
        self._latest = state
        states, cycles = self._states, self._cycles
        since = cycles[-1]
        if now - since <= 1 and len(states) > 1 and states[-2] == state:
            states.pop()
            cycles.pop()
        elif since == now:
            states[-1] = state
        else:
            states.append(state)
            cycles.append(now)
            if len(states) > _LONG:
                self._states = between(states, _LONG // 2, len(states))
                self._cycles = between(cycles, _LONG // 2, len(cycles))

    def cut(self, start: int, end: int, pieces: Pieces) -> None:
        """Add the pieces of ``[start, end)``, the last one first."""
        states, cycles = self._states, self._cycles
        if start >= end:
            return
        entry = position(cycles, end, 1) - 1
        while entry and (begin := cycles[entry]) > start:
            self._add(states[entry], begin, end, pieces)
            end = begin
            entry -= 1
        self._add(states[entry], start, end, pieces)

    def _add(self, state: int, start: int, end: int, pieces: Pieces) -> None:
        """Add a piece, and what is to blame for it."""
        pieces.add(state, start, end)
        if state == _INTERCONNECT:
            self.blames.book(state, start, end, pieces)
        elif state == _MSHR or state == _CREDIT or state == _TLB:
            self.roots.book(state, start, end, pieces)


class Freeable(Protocol):
    """Something that may have no room: a port, the MSHRs of a cache, the network."""

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when there is room."""


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordedStall(Stall):
    """A stall that notes in a history what its unit waits for.

    Args:
        working: the state of the unit while it is not stalled.

    Attributes:
        noted: whether the history has the unit wait.
        state: in which it last waited for what others hold.
    """

    __slots__ = ("_env", "_since", "_working", "history", "noted", "state")

    def __init__(self, env: EventLoop, wake: Wake, working: int) -> None:
        super().__init__(wake)
        self.history = History(working)
        self.noted = False
        self.state = working
        self._env = env
        self._working = working
        self._since = 0

    def until_free(self, what: Freeable, state: int) -> bool:
        """The unit waits, in `state`, until `what` is free; False, for the caller to return."""
        what.when_free(self)
        return self.until_freed(state)

    def until_freed(self, state: int) -> bool:
        """The unit waits, in `state`, for what will be given back; False."""
        now = self._env._now
        self.active = self.noted = True
        self.state = state
        self._since = now
        self.history.enter(state, now)
        return False

    def because(self, blames: Blames, since: int) -> None:
        begin = max(since, self._since, self.history.blames.until)
        now = self._env._now
        if begin < now:
            self.history.blames.note_those_of(blames, begin, now)

    def freed_by(self, cause: Trailed) -> None:
        roots = self.history.roots
        begin, now = roots.until, self._env._now
        if begin < self._since:
            begin = self._since
        if begin < now:
            roots.note(cause, begin, now)

    def note(self, state: int) -> bool:
        """From now on those in the queue wait in `state`; False, for the caller to return."""
        self.noted = True
        self.history.enter(state, self._env._now)
        return False

    def over(self, now: int) -> None:
        """The unit works again."""
        self.noted = False
        self.history.enter(self._working, now)
