"""The event loop: cycles, what happens in each of them, and the wake-ups of processes.

`gpusim.core.engine.environment` makes a `simpy.EventLoop` of it.  This half knows of SimPy's
events only what it takes to run their callbacks, and is among the modules that are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import mypyc_attr
from simpy.core import StopSimulation
from simpy.events import NORMAL, URGENT, EventPriority

from gpusim.core.blame import Blames
from gpusim.core.cut import Trailed
from gpusim.core.unboxed import IntDict, IntHeap, heappop, heappush

NEVER: Final = 1 << 60
"""A cycle that no simulation reaches; compiled code keeps ints below 2^62 unboxed."""

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
        woken = self.waiting[:room]
        del self.waiting[:room]
        for sender in woken:
            sender.now()


class Wake(Wakeable):
    """The one pending wake-up of a process: due at the earliest cycle that was asked for."""

    __slots__ = ("_buckets", "_cycles", "due", "loop", "process", "send")

    def __init__(self, loop: EventLoop, process: Any, send: Callable[[None], Any]) -> None:
        self.loop = loop
        self.process = process
        self.send = send
        self.due = NEVER
        self._buckets = loop._buckets
        self._cycles = loop._cycles

    def at(self, cycle: int) -> None:
        """Wake the process in `cycle` (this one or later) unless it wakes earlier anyhow."""
        if cycle < self.due:
            self.due = cycle
            bucket = self._buckets.get(cycle)
            if bucket is None:
                self._buckets[cycle] = [self]
                heappush(self._cycles, cycle)
            else:
                bucket.append(self)

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
        self.wake.now()


@mypyc_attr(allow_interpreted_subclasses=True)
class Sleeper:
    """What components know of a process.

    Attributes:
        wake: its wake-up.
    """

    wake: Wake


@mypyc_attr(allow_interpreted_subclasses=True)
class EventLoop:
    """Entries (wake-ups and SimPy events) by cycle, and the loop over them.

    An entry of SimPy's that has been processed has no callbacks; a wake-up is due in the cycle
    under which it lies, or it has been overtaken by an earlier one and is skipped.

    Attributes:
        events: entries processed so far.
    """

    def __init__(self, initial_cycle: int = 0) -> None:
        self._now: int = initial_cycle
        self._active_proc: Any = None
        self._buckets: IntDict[list[Any]] = IntDict()
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
            self._bucket(cycle).append(event)
        elif cycle == self._now and priority == URGENT:
            self._urgent.append(event)
        elif cycle == self._now:
            self._urgent.insert(0, event)
        else:
            self._urgent_later.setdefault(cycle, []).append(event)
            self._bucket(cycle)

    def _bucket(self, cycle: int) -> list[Any]:
        """The entries of a cycle."""
        bucket = self._buckets.get(cycle)
        if bucket is None:
            bucket = self._buckets[cycle] = []
            heappush(self._cycles, cycle)
        return bucket

    def forget(self, wake: Wake) -> None:
        """Take back a wake-up whose process was interrupted in its sleep."""
        if wake.due == NEVER:
            return
        bucket = self._buckets[wake.due]
        place = len(bucket) - 1
        while bucket[place] is not wake:
            place -= 1
        bucket[place] = None
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
        bucket = self._buckets[cycle]
        if self._done == len(bucket):
            _leave(self)
            return True
        entry = bucket[self._done]
        self._done += 1
        if not isinstance(entry, Wake):
            self._fire(entry)
        elif entry.due == cycle:
            self._wake(entry)
        return True

    def run_all(self) -> None:
        """Process entries until none is left, a cycle at a time."""
        buckets, cycles = self._buckets, self._cycles
        until_breath = _BREATH
        try:
            while cycles or self._urgent:
                if self._urgent:
                    self._fire(self._urgent.pop(0))
                    continue
                cycle = cycles[0]
                if cycle != self._now:
                    _enter(self, cycle)
                elif _run_bucket(self, buckets[cycle], cycle):
                    _leave(self)
                until_breath -= 1
                if not until_breath:
                    until_breath = _BREATH
                    self.breathe()
        finally:
            self._active_proc = None

    def breathe(self) -> None:
        """Let Python look for signals: it does so only between instructions that it interprets."""
        raise NotImplementedError

    def _wake(self, wake: Wake) -> None:
        """Resume the process of a wake-up that is due now."""
        self.events += 1
        wake.due = NEVER
        self._active_proc = wake.process
        try:
            target = wake.send(None)
        except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
            wake.process._finish(error)
        else:
            if target is not None:
                _await(wake.process, target)
        self._active_proc = None

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


def _leave(loop: EventLoop) -> None:
    """All entries of the current cycle have been processed."""
    del loop._buckets[heappop(loop._cycles)]
    loop._done = 0


def _run_bucket(loop: EventLoop, bucket: list[Any], cycle: int) -> bool:
    """Process a cycle's entries until none is left (True) or an urgent event comes between.

    `EventLoop._wake` and `Wake.at` are written out here: this loop carries every run.
    """
    done, events = loop._done, 0
    buckets = loop._buckets
    try:
        while done < len(bucket):
            entry = bucket[done]
            done += 1
            if not isinstance(entry, Wake):
                loop._active_proc = None
                loop._fire(entry)
            elif entry.due == cycle:
                entry.due = NEVER
                loop._active_proc = entry.process
                events += 1
                try:
                    target = entry.send(None)
                except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
                    entry.process._finish(error)
                else:
                    if isinstance(target, int) and target > 0:
                        due = cycle + target
                        if due < entry.due:
                            entry.due = due
                            later = buckets.get(due)
                            if later is None:
                                buckets[due] = [entry]
                                heappush(loop._cycles, due)
                            else:
                                later.append(entry)
                    elif target is not None:
                        _await(entry.process, target)
            if loop._urgent:
                return False
        return True
    finally:
        loop._done = done
        loop.events += events


def _await(process: Any, target: Any) -> None:
    """Let a process wait for what it has yielded; that may have happened already."""
    happened = process._await(target)
    if happened is not None:
        process._resume(happened)
