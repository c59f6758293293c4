"""A `simpy.Environment` that keeps time in whole cycles and its events in per-cycle buckets.

SimPy orders events by ``(time, priority, serial number)`` in one heap.  Here the heap holds only
*cycles*; what happens within a cycle lies in a FIFO, which is the same order without comparing
tuples.  Two more things make components cheap:

* a process may yield a **whole number of cycles** instead of a `Timeout`, or **nothing**
  (``yield None``): it is then parked until another one calls ``process.wake.at(cycle)``;
* a process has at most one pending wake-up, the earliest of all that were asked for, so an idle
  component schedules nothing and a busy one is woken once a cycle, however often it is asked to.

What is woken most has no generator: it is `Turning`, and its `turn` is called instead.

Everything else of SimPy (events, conditions, interrupts, resources, ``run(until=...)``) works.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy
from simpy.core import BoundClass, EmptySchedule, Infinity, StopSimulation
from simpy.events import URGENT, Event

from gpusim.core.engine.loop import NEVER, EventLoop, Resumed, Sleeper, Wake
from gpusim.core.engine.sides import Sides

Yielded = int | Event | None
ProcessGenerator = Generator[Yielded, Any, Any]


class Process(Sleeper, simpy.Process):
    """A SimPy process that may also yield whole cycles, or ``None`` to be parked.

    Attributes:
        onlooker: it looks on and changes nothing, such as the watchdog.
    """

    def __init__(
        self, env: Environment, generator: ProcessGenerator, onlooker: bool = False
    ) -> None:
        simpy.Process.__init__(self, env, generator)  # type: ignore[arg-type]
        self.onlooker = onlooker
        self.wake = Wake(env, Resumed(env, self, generator.send), onlooker)
        self._nap = Event(env)
        """What SimPy takes for the target of a process that sleeps or is parked."""

    @property
    def name(self) -> str:
        """The function that was started; compiled generators know no name, but their kind."""
        made = self._generator
        return getattr(made, "__name__", None) or type(made).__name__

    def _resume(self, event: Event) -> None:
        """Resume with the outcome of `event` (SimPy's own entry: events, interrupts, the start)."""
        env: Environment = self.env  # type: ignore[assignment]
        env._active_proc = self
        env.forget(self.wake)
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
            return  # a wake-up that came after its end
        self._target = None  # type: ignore[assignment]
        if isinstance(error, StopIteration):
            self._ok = True
            self._value = error.value
        else:
            self._ok = False
            error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
            self._value = error
        self.env.schedule(self)


class Environment(EventLoop, simpy.Environment):  # type: ignore[misc]  # its time is whole
    """Discrete-event time in whole cycles; see the module's docstring."""

    def __init__(self, initial_cycle: int = 0) -> None:
        simpy.Environment.__init__(self, initial_cycle)
        EventLoop.__init__(self, initial_cycle)

    process = BoundClass(Process)

    def start(self, generator: ProcessGenerator, *, onlooker: bool = False) -> Process:
        return Process(self, generator, onlooker)

    def peek(self) -> float:
        """The cycle of the next event, or infinity."""
        cycle = self._first(_is_live)
        return Infinity if cycle == NEVER else cycle

    def next_cycle(self) -> int:
        return self._first(_is_at_work)

    def _first(self, counts: Callable[[Wake | Event | None, int], bool]) -> int:
        """The first cycle with an entry that counts, or `NEVER`."""
        if self._urgent:
            return self._now
        for cycle in sorted(self._cycles):
            if self._urgent_later.get(cycle):
                return cycle
            if any(counts(entry, cycle) for entry in self.entries(cycle)):
                return cycle
        return NEVER

    def step(self) -> None:
        """Process the next event, raising `simpy.core.EmptySchedule` if there is none."""
        before = self.events
        while self.events == before:
            if not self.advance():
                raise EmptySchedule

    def breathe(self) -> None:
        """Being interpreted is enough."""

    def run(self, until: float | Event | None = None) -> Any:
        """Process events until none is left, until a cycle, or until an event (as SimPy's)."""
        if until is None:
            self.run_all()
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
            self.run_all()
        except StopSimulation as reached:
            return reached.args[0]
        assert not stop.triggered
        raise RuntimeError(f"No scheduled events left but {stop!r} was not triggered")


def _is_live(entry: Wake | Event | None, cycle: int) -> bool:
    """Whether an entry of a cycle is still to be processed there."""
    if isinstance(entry, Wake):
        return entry.due == cycle
    return entry is not None and entry.callbacks is not None


def _is_at_work(entry: Wake | Event | None, cycle: int) -> bool:
    """Whether an entry of a cycle is still to be processed, and is no onlooker's wake-up."""
    if isinstance(entry, Wake) and entry.onlooker:
        return False
    return _is_live(entry, cycle)


class LeadingEnvironment(Environment):
    """Time of the leading one of two sides, which runs both (see `gpusim.core.engine.sides`).

    Attributes:
        sides: what runs them.
        upcoming: the cycle of the next event of the following side that is not an onlooker's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sides: Sides | None = None
        self.upcoming: Callable[[], int] = lambda: NEVER

    def run_all(self) -> None:
        assert self.sides is not None
        try:
            self.sides.run_all()
        finally:
            self._active_proc = None

    def next_cycle(self) -> int:
        return min(super().next_cycle(), self.upcoming())
