"""A `simpy.Environment` that keeps time in whole cycles and its events in per-cycle buckets.

SimPy orders events by ``(time, priority, serial number)`` in one heap.  Here the heap holds only
*cycles*; what happens within a cycle lies in a FIFO, which is the same order without comparing
tuples.  Two more things make components cheap:

* a process may yield a **whole number of cycles** instead of a `Timeout`, or **nothing**
  (``yield None``): it is then parked until someone calls ``process.wake.at(cycle)``;
* a process has at most one pending wake-up, the earliest that anyone asked for, so an idle
  component schedules nothing and a busy one is woken once a cycle, whoever asks.

Everything else of SimPy (events, conditions, interrupts, resources, ``run(until=...)``) works.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from typing import Any, Protocol

import simpy
from simpy.core import BoundClass, EmptySchedule, Infinity, StopSimulation
from simpy.events import NORMAL, URGENT, Event, EventPriority

NEVER = 1 << 62
"""A cycle that no simulation reaches."""

Yielded = int | Event | None
ProcessGenerator = Generator[Yielded, Any, Any]


class Wakeable(Protocol):
    """Someone who waits for room."""

    def now(self) -> None:
        """There is room: wake up later in this cycle."""


class Waiters(list[Wakeable]):
    """Those who wait for room, in the order in which they asked, each once."""

    __slots__ = ()

    def add(self, sender: Wakeable) -> None:
        """Let `sender` wait, unless it does already."""
        if sender not in self:
            self.append(sender)

    def wake(self, room: int | None = None) -> None:
        """Wake the first `room` of them (None: all); they no longer wait."""
        woken = self[:room]
        del self[:room]
        for sender in woken:
            sender.now()


class Stall:
    """Wakes a process for one reason, and tells it that this was the reason.

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


class Wake:
    """The one pending wake-up of a process: due at the earliest cycle that anyone asked for."""

    __slots__ = ("_buckets", "_cycles", "due", "env", "process", "send")

    def __init__(self, env: Environment, process: Process, send: Callable[[None], Yielded]) -> None:
        self.env = env
        self.process = process
        self.send = send
        self.due = NEVER
        self._buckets = env._buckets
        self._cycles = env._cycles

    def at(self, cycle: int) -> None:
        """Wake the process in `cycle` (this one or later) unless it wakes earlier anyhow."""
        if cycle < self.due:
            self.due = cycle
            bucket = self._buckets.get(cycle)
            if bucket is None:
                self._buckets[cycle] = deque((self,))
                heappush(self._cycles, cycle)
            else:
                bucket.append(self)

    def now(self) -> None:
        """Wake the process later in this very cycle."""
        self.at(self.env._now)


class Process(simpy.Process):
    """A SimPy process that may also yield whole cycles, or ``None`` to be parked.

    Attributes:
        onlooker: it looks on and changes nothing, such as the watchdog.
    """

    def __init__(
        self, env: Environment, generator: ProcessGenerator, onlooker: bool = False
    ) -> None:
        super().__init__(env, generator)  # type: ignore[arg-type]
        self.onlooker = onlooker
        self.wake = Wake(env, self, generator.send)
        self._nap = Event(env)
        """What SimPy takes for the target of a process that sleeps or is parked."""

    def _resume(self, event: Event) -> None:
        """Resume with the outcome of `event` (SimPy's own entry: events, interrupts, the start)."""
        env: Environment = self.env  # type: ignore[assignment]
        env._active_proc = self
        if self.wake.due != NEVER:  # interrupted in its sleep
            env._buckets[self.wake.due].remove(self.wake)
            self.wake.due = NEVER
        while True:
            try:
                if event._ok:
                    target = self._generator.send(event._value)
                else:
                    event._defused = True
                    error = type(event._value)(*event._value.args)
                    error.__cause__ = event._value
                    target = self._generator.throw(error)
            except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
                self._finish(error)
                break
            next_event = self._await(target)
            if next_event is None:
                break
            event = next_event
        env._active_proc = None

    def _await(self, target: Yielded) -> Event | None:
        """Arrange the next resumption; return an event that has already happened, else None."""
        if target is None or isinstance(target, int):
            self._nap.callbacks = [self._resume]
            self._target = self._nap
            if target is not None:
                if target < 0:
                    raise ValueError(f"{self.name} yielded a negative number of cycles: {target}")
                self.wake.at(self.env._now + target)  # type: ignore[arg-type]
            return None
        if not isinstance(target, Event):
            raise RuntimeError(
                f"{self.name} yielded {target!r}: only events, whole cycles or None are allowed"
            )
        if target.callbacks is None:
            return target
        target.callbacks.append(self._resume)
        self._target = target
        return None

    def _finish(self, error: Exception) -> None:
        """End the process: its generator returned (StopIteration) or failed."""
        if self.triggered:
            return  # somebody woke it up after its end
        self._target = None  # type: ignore[assignment]
        if isinstance(error, StopIteration):
            self._ok = True
            self._value = error.value
        else:
            self._ok = False
            error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
            self._value = error
        self.env.schedule(self)


class Environment(simpy.Environment):
    """Discrete-event time in whole cycles; see the module's docstring.

    `events` counts everything that was processed (wake-ups and SimPy events).
    """

    _now: int

    def __init__(self, initial_cycle: int = 0) -> None:
        super().__init__(initial_cycle)
        self._buckets: dict[int, deque[Wake | Event]] = {}
        self._cycles: list[int] = []
        self._urgent: deque[Event] = deque()
        self._urgent_later: dict[int, deque[Event]] = {}
        self.events = 0

    @property
    def now(self) -> int:
        """The current cycle."""
        return self._now

    process = BoundClass(Process)

    def start(self, generator: ProcessGenerator, *, onlooker: bool = False) -> Process:
        """`process`, precisely typed; onlookers do not count for `next_cycle`."""
        return Process(self, generator, onlooker)

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: float = 0) -> None:
        """Put `event` into the bucket ``now + delay``.

        Raises:
            ValueError: `delay` is not a whole number of cycles.
        """
        cycle = self._now + int(delay)
        if cycle != self._now + delay:
            raise ValueError(f"time is in whole cycles: a delay of {delay} is not")
        if priority == NORMAL:
            bucket = self._buckets.get(cycle)
            if bucket is None:
                self._buckets[cycle] = deque((event,))
                heappush(self._cycles, cycle)
            else:
                bucket.append(event)
        elif cycle == self._now and priority == URGENT:
            self._urgent.append(event)
        elif cycle == self._now:
            self._urgent.appendleft(event)
        else:
            self._urgent_later.setdefault(cycle, deque()).append(event)
            if cycle not in self._buckets:
                self._buckets[cycle] = deque()
                heappush(self._cycles, cycle)

    def peek(self) -> float:
        """The cycle of the next event, or infinity."""
        cycle = self._first(_is_live)
        return Infinity if cycle == NEVER else cycle

    def next_cycle(self) -> int:
        """The cycle of the next event that is not an onlooker's, or `NEVER`."""
        return self._first(_is_at_work)

    def _first(self, counts: Callable[[Wake | Event, int], bool]) -> int:
        """The first cycle with an entry that counts, or `NEVER`."""
        if self._urgent:
            return self._now
        for cycle in sorted(self._cycles):
            entries = self._buckets[cycle]
            if self._urgent_later.get(cycle) or any(counts(entry, cycle) for entry in entries):
                return cycle
        return NEVER

    def step(self) -> None:
        """Process the next event, raising `simpy.core.EmptySchedule` if there is none."""
        while True:
            if self._urgent:
                self._fire(self._urgent.popleft())
                return
            if not self._cycles:
                raise EmptySchedule
            cycle = self._cycles[0]
            if cycle != self._now:
                self._enter(cycle)
                continue
            bucket = self._buckets[cycle]
            if not bucket:
                del self._buckets[heappop(self._cycles)]
                continue
            entry = bucket.popleft()
            if not isinstance(entry, Wake):
                self._fire(entry)
                return
            if entry.due == cycle:
                self._wake(entry)
                return

    def _enter(self, cycle: int) -> None:
        self._now = cycle
        if self._urgent_later:
            self._urgent = self._urgent_later.pop(cycle, self._urgent)

    def _fire(self, event: Event) -> None:
        """Run the callbacks of one SimPy event."""
        self.events += 1
        callbacks = event.callbacks
        event.callbacks = None  # type: ignore[assignment]
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

    def _wake(self, wake: Wake) -> None:
        """Resume the process of a wake-up that is due now."""
        self.events += 1
        wake.due = NEVER
        process = wake.process
        self._active_proc = process
        try:
            target = wake.send(None)
        except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
            process._finish(error)
        else:
            if target is not None:
                happened = process._await(target)
                if happened is not None:
                    process._resume(happened)
        self._active_proc = None

    def run(self, until: float | Event | None = None) -> Any:
        """Process events until none is left, until a cycle, or until an event (as SimPy's)."""
        if until is None:
            self._run_all()
            return None
        if not isinstance(until, Event):
            if until <= self._now:
                raise ValueError(f"until ({until}) must be greater than the current cycle")
            stop = Event(self)
            stop._ok = True
            stop._value = None
            self.schedule(stop, URGENT, until - self._now)
        else:
            stop = until
            if stop.callbacks is None:
                return stop.value
        stop.callbacks.append(StopSimulation.callback)
        try:
            self._run_all()
        except StopSimulation as reached:
            return reached.args[0]
        assert not stop.triggered
        raise RuntimeError(f"No scheduled events left but {stop!r} was not triggered")

    def _run_all(self) -> None:
        """`step` until nothing is left, a cycle at a time."""
        buckets, cycles = self._buckets, self._cycles
        try:
            while cycles or self._urgent:
                if self._urgent:
                    self._fire(self._urgent.popleft())
                elif cycles[0] != self._now:
                    self._enter(cycles[0])
                elif self._run_bucket(buckets[cycles[0]], cycles[0]):
                    del buckets[heappop(cycles)]
        finally:
            self._active_proc = None

    def _run_bucket(self, bucket: deque[Wake | Event], cycle: int) -> bool:
        """Process a cycle's entries until none is left (True) or an urgent event comes between.

        `_wake` and `Wake.at` are written out here: this loop carries every run.
        """
        pop = bucket.popleft
        buckets = self._buckets
        while bucket:
            entry = pop()
            if entry.__class__ is not Wake:
                self._active_proc = None
                self._fire(entry)  # type: ignore[arg-type]
            elif entry.due == cycle:
                entry.due = NEVER
                self._active_proc = entry.process
                self.events += 1
                try:
                    target = entry.send(None)
                except Exception as error:  # noqa: BLE001  (SimPy: the process fails with it)
                    entry.process._finish(error)
                else:
                    if target.__class__ is int and target > 0:
                        due = cycle + target
                        if due < entry.due:
                            entry.due = due
                            later = buckets.get(due)
                            if later is None:
                                buckets[due] = deque((entry,))
                                heappush(self._cycles, due)
                            else:
                                later.append(entry)
                    elif target is not None:
                        happened = entry.process._await(target)
                        if happened is not None:
                            entry.process._resume(happened)
            if self._urgent:
                return False
        return True


def _is_live(entry: Wake | Event, cycle: int) -> bool:
    """Whether an entry of the bucket `cycle` is more than a wake-up overtaken by an earlier one."""
    return not isinstance(entry, Wake) or entry.due == cycle


def _is_at_work(entry: Wake | Event, cycle: int) -> bool:
    """The same, and that of an onlooker does not count."""
    return not isinstance(entry, Wake) or (entry.due == cycle and not entry.process.onlooker)


__all__ = [
    "NEVER",
    "Environment",
    "Process",
    "ProcessGenerator",
    "Stall",
    "Waiters",
    "Wake",
    "Wakeable",
]
