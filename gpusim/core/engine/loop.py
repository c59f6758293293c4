"""The event loop: cycles, what happens in each of them, and the wake-ups of processes.

`gpusim.core.engine.environment` makes a `simpy.EventLoop` of it.  This half knows of SimPy's
events only what it takes to run their callbacks, and is among the modules that are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import mypyc_attr, trait
from simpy.core import StopSimulation
from simpy.events import NORMAL, URGENT, EventPriority

from gpusim.core.blame import Blames
from gpusim.core.cut import Trailed
from gpusim.core.unboxed import Fifo, IntDict, IntHeap, heappop, heappush

NEVER: Final = 1 << 60
"""A cycle that no simulation reaches; compiled code keeps ints below 2^62 unboxed."""

_NEAR: Final = 1 << 10
_SLOT: Final = _NEAR - 1
"""Cycles, this one and those ahead, whose entries lie in slots, and the mask of a slot's number."""

_BREATH: Final = 1 << 12
"""Cycles with events between two breaths."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Wakeable:
    """A sender that can wait for room, and is woken when there is some."""

    __slots__ = ()

    def now(self) -> None:
        """There is room: wake up later in this cycle."""
        raise NotImplementedError

    def because(self, blames: Blames, since: int) -> None:
        """Room comes as a packet leaves what it was at since a cycle; called before `now`.

        Most senders keep no account of why they waited.

        Args:
            blames: when what it was at was stalled.
            since: the cycle.
        """

    def freed_by(self, cause: Trailed) -> None:
        """Room comes as something that held it is done; called before `now`.

        Most senders keep no account of why they waited.

        Args:
            cause: it, whose trail says what it waited for meanwhile.
        """


class Waiters:
    """A queue of senders that wait for room, in the order in which they asked, each once.

    Attributes:
        waiting: the wake-ups of these senders, the first one first.
    """

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: list[Wakeable] = []

    def add(self, sender: Wakeable) -> None:
        """Let `sender` wait, unless it does already."""
        for one in self.waiting:
            if one is sender:
                return
        self.waiting.append(sender)

    def wake_after(self, cause: Trailed) -> None:
        """Wake all of them, as something that held what they wait for is done."""
        for sender in self.waiting:
            sender.freed_by(cause)
        self.wake()

    def wake(self, room: int = NEVER) -> None:
        """Wake the first `room` of them; they no longer wait."""
        woken, self.waiting = self.waiting, []
        if room < len(woken):
            self.waiting = woken[room:]
            woken = woken[:room]
        for sender in woken:
            sender.now()


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Turning:
    """What takes time: it has a turn in every cycle for which it was woken."""

    __slots__ = ()

    def turn(self, now: int) -> int:
        """Do what is due in cycle `now`; returns the cycle of the next turn.

        That is no earlier than `now`, and `NEVER` where only a wake-up brings one; a wake-up for an
        earlier cycle brings it forward, and what is due later has to be said again then.
        """
        raise NotImplementedError


class Wake(Wakeable):
    """The one pending wake-up of a process: due at the earliest cycle that was asked for.

    Args:
        loop: the event loop.
        turning: what has its turn when it is woken.
        onlooker: whether that looks on and changes nothing.
    """

    __slots__ = ("_cycles", "_slots", "due", "loop", "onlooker", "turning")

    def __init__(self, loop: EventLoop, turning: Turning, onlooker: bool = False) -> None:
        self.loop = loop
        self.turning = turning
        self.onlooker = onlooker
        self.due = NEVER
        self._slots = loop._slots
        self._cycles = loop._cycles

    def at(self, cycle: int) -> None:
        """Wake the process in `cycle` (this one or later) unless it wakes earlier anyhow."""
        if cycle < self.due:
            self.due = cycle
            if cycle - self.loop._now < _NEAR:
                entries = self._slots[cycle & _SLOT]
                if not entries:
                    heappush(self._cycles, cycle)
                entries.append(self)
            else:
                self.loop.put_far(self, cycle)

    def now(self) -> None:
        """Wake the process later in this very cycle."""
        self.at(self.loop._now)


@mypyc_attr(allow_interpreted_subclasses=True)
class Stall(Wakeable):
    """A wake-up of a process for one reason; `active` while the process waits for this reason.

    A component that is stalled hands its `Stall` to whatever it waits for; until that is free,
    `active` spares it to try again whenever something else wakes it.
    """

    __slots__ = ("active", "wake")

    def __init__(self, wake: Wake) -> None:
        self.wake = wake
        self.active = False

    def now(self) -> None:
        """What was waited for is free."""
        self.active = False
        wake = self.wake
        if wake.loop._now < wake.due:
            wake.at(wake.loop._now)


@mypyc_attr(allow_interpreted_subclasses=True)
class Sleeper:
    """What components know of a process.

    Attributes:
        wake: its wake-up.
    """

    wake: Wake


class TurnTaker(Sleeper):
    """The process of a component that has turns; parked until it is woken."""

    def __init__(self, loop: EventLoop, turning: Turning) -> None:
        self.wake = Wake(loop, turning)


class Resumed(Turning):
    """The turns of a SimPy process: each resumes its generator, whose targets are SimPy's, too.

    Args:
        loop: the event loop.
        process: the process.
        send: of its generator.
    """

    __slots__ = ("_loop", "_process", "_send")

    def __init__(self, loop: EventLoop, process: Any, send: Callable[[None], Any]) -> None:
        self._loop = loop
        self._process = process
        self._send = send

    def turn(self, now: int) -> int:
        loop, process = self._loop, self._process
        loop._active_proc = process
        due = NEVER
        try:
            target = self._send(None)
        except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
            process._finish(error)
        else:
            if isinstance(target, int) and target > 0:
                due = now + target
            elif target is not None:
                happened = process._await(target)
                if happened is not None:
                    process._resume(happened)
        loop._active_proc = None
        return due


@mypyc_attr(allow_interpreted_subclasses=True)
class EventLoop:
    """Entries (wake-ups and SimPy events) by cycle, and the loop over them.

    The entries of each of the next `_NEAR` cycles lie in a slot of their own; those of later ones
    in a dict, from which they go into the slot when their cycle comes, ahead of what was put there
    later.  A heap has the cycles that have entries, some of them twice.

    An entry of SimPy's that has been processed has no callbacks; a wake-up is due in the cycle
    under which it lies, or it has been overtaken by an earlier one and is skipped.

    Attributes:
        events: entries processed so far.
    """

    def __init__(self, initial_cycle: int = 0) -> None:
        self._now: int = initial_cycle
        self._active_proc: Any = None
        self._slots: list[Fifo[Any]] = [Fifo() for _ in range(_NEAR)]
        self._far: IntDict[Fifo[Any]] = IntDict()
        self._cycles = IntHeap()
        self._done = 0
        """Entries of the current cycle that have been taken, while the loop is elsewhere."""
        self._urgent: list[Any] = []
        self._urgent_later: dict[int, list[Any]] = {}
        self.events = 0

    @property
    def now(self) -> int:
        """The current cycle."""
        return self._now

    def start(self, generator: Any, *, onlooker: bool = False) -> Sleeper:
        """Start a process; an onlooker changes nothing, and does not count for `next_cycle`."""
        raise NotImplementedError

    def next_cycle(self) -> int:
        """The cycle of the next event that is not an onlooker's, or `NEVER`."""
        raise NotImplementedError

    def schedule(self, event: Any, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Put a SimPy event into the cycle ``now + delay``.

        Raises:
            ValueError: `delay` is not a whole number of cycles.
        """
        cycle = self._now + int(delay)
        if cycle != self._now + delay:
            raise ValueError(f"time is in whole cycles: a delay of {delay} is not")
        if priority == NORMAL:
            self._put(event, cycle)
        elif cycle == self._now and priority == URGENT:
            self._urgent.append(event)
        elif cycle == self._now:
            self._urgent.insert(0, event)
        else:
            self._urgent_later.setdefault(cycle, []).append(event)
            heappush(self._cycles, cycle)

    def _put(self, entry: Any, cycle: int) -> None:
        if cycle - self._now < _NEAR:
            entries = self._slots[cycle & _SLOT]
            if not entries:
                heappush(self._cycles, cycle)
            entries.append(entry)
        else:
            self.put_far(entry, cycle)

    def put_far(self, entry: Any, cycle: int) -> None:
        """Put an entry into a cycle that lies at least `_NEAR` cycles ahead."""
        entries = self._far.get(cycle)
        if entries is None:
            entries = self._far[cycle] = Fifo()
            heappush(self._cycles, cycle)
        entries.append(entry)

    def entries(self, cycle: int) -> list[Any]:
        """A copy of the entries of a cycle, in their order."""
        near = list(self._slots[cycle & _SLOT]) if cycle - self._now < _NEAR else []
        far = self._far.get(cycle)
        return near if far is None else list(far) + near

    def forget(self, wake: Wake) -> None:
        """Take back a wake-up whose process was interrupted in its sleep."""
        if wake.due == NEVER:
            return
        far = self._far.get(wake.due)
        if far is None or not _forget(far, wake):
            _forget(self._slots[wake.due & _SLOT], wake)
        wake.due = NEVER

    def advance(self) -> bool:
        """Process one entry, or skip one; False if there is none left."""
        if self._urgent:
            self._fire(self._urgent.pop(0))
            return True
        if not self._cycles:
            return False
        cycle = self._cycles[0]
        if cycle != self._now:
            _enter(self, cycle)
            return True
        entries = self._slots[cycle & _SLOT]
        if self._done == len(entries):
            _leave(self)
            return True
        entry = entries[self._done]
        self._done += 1
        if not isinstance(entry, Wake):
            self._fire(entry)
        elif entry.due == cycle:
            entry.due = NEVER
            self.events += 1
            due = entry.turning.turn(cycle)
            if due != NEVER:
                entry.at(due)
        return True

    def run_all(self) -> None:
        """Process entries until none is left, a cycle at a time."""
        slots, cycles = self._slots, self._cycles
        until_breath = _BREATH
        try:
            while cycles or self._urgent:
                if self._urgent:
                    self._fire(self._urgent.pop(0))
                    continue
                cycle = cycles[0]
                if cycle != self._now:
                    _enter(self, cycle)
                elif _live_through(self, slots[cycle & _SLOT], cycle):
                    _leave(self)
                until_breath -= 1
                if not until_breath:
                    until_breath = _BREATH
                    self.breathe()
        finally:
            self._active_proc = None

    def first_cycle(self) -> int:
        """The first cycle, now or later, that has an entry, an onlooker's too; else `NEVER`."""
        if self._urgent:
            return self._now
        return self._cycles[0] if self._cycles else NEVER

    def enter(self, cycle: int) -> None:
        """Begin a cycle, after the current one, of which nothing is left."""
        if cycle != self._now:
            _enter(self, cycle)

    def finish_cycle(self) -> None:
        """Process the entries of the current cycle until none is left."""
        slots, cycles, cycle = self._slots, self._cycles, self._now
        while True:
            if self._urgent:
                self._fire(self._urgent.pop(0))
            elif not cycles or cycles[0] != cycle:
                return
            elif _live_through(self, slots[cycle & _SLOT], cycle):
                _leave(self)

    def breathe(self) -> None:
        """Let Python look for signals: it does so only between instructions that it interprets."""
        raise NotImplementedError

    def _fire(self, event: Any) -> None:
        """Run the callbacks of one SimPy event; None: a wake-up that was taken back."""
        if event is None:
            return
        self.events += 1
        callbacks = event.callbacks
        event.callbacks = None
        for done, callback in enumerate(callbacks, 1):
            try:
                callback(event)
            except StopSimulation:
                if callbacks[done:]:
                    event.callbacks = callbacks[done:]
                    self.schedule(event, EventPriority(-1))
                raise
        if not event._ok and not hasattr(event, "_defused"):
            error = type(event._value)(*event._value.args)
            error.__cause__ = event._value
            raise error


# Functions, not methods: `gpusim.core.engine.environment` subclasses the loop in Python, and what
# such a class may override is looked up by its name in compiled code, too.


def _enter(loop: EventLoop, cycle: int) -> None:
    loop._now = cycle
    loop._done = 0
    if loop._urgent_later:
        loop._urgent = loop._urgent_later.pop(cycle, loop._urgent)
    if cycle in loop._far:
        entries = loop._far.pop(cycle)
        for entry in loop._slots[cycle & _SLOT]:
            entries.append(entry)
        loop._slots[cycle & _SLOT] = entries


def _leave(loop: EventLoop) -> None:
    """All entries of the current cycle have been processed."""
    cycles, cycle = loop._cycles, loop._now
    while cycles and cycles[0] == cycle:
        heappop(cycles)
    loop._slots[cycle & _SLOT].clear()
    loop._done = 0


def _forget(entries: Fifo[Any], wake: Wake) -> bool:
    """Take a wake-up out of the entries of a cycle; whether it was there."""
    for place in range(len(entries) - 1, -1, -1):
        if entries[place] is wake:
            entries[place] = None
            return True
    return False


def _live_through(loop: EventLoop, entries: Fifo[Any], cycle: int) -> bool:
    """Process a cycle's entries until none is left (True) or an urgent event comes between.

    `Wake.at` is written out here: this loop carries every run.
    """
    done, events = loop._done, 0
    slots, cycles = loop._slots, loop._cycles
    try:
        while done < len(entries):
            entry = entries[done]
            done += 1
            if not isinstance(entry, Wake):
                loop._fire(entry)
            elif entry.due == cycle:
                entry.due = NEVER
                events += 1
                due = entry.turning.turn(cycle)
                if due < entry.due:
                    entry.due = due
                    if due - cycle < _NEAR:
                        later = slots[due & _SLOT]
                        if not later:
                            heappush(cycles, due)
                        later.append(entry)
                    else:
                        loop.put_far(entry, due)
            if loop._urgent:
                return False
        return True
    finally:
        loop._done = done
        loop.events += events
