"""Windows that are parts of launches, at places that stand for whole programs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from attrs import define, field

from gpusim.hardware.sm.untimed.scheduler import SkippingScheduler
from gpusim.machine.machine import Machine
from gpusim.runs.windows.measured import MeasuringPace, Snapshot, Span, Window
from gpusim.runs.windows.plan import Extent

LOOK_CYCLES = 10_000
"""How often it is seen, at least, that a program has ended in a window."""


@define(eq=False, repr=False)
class Marks:
    """What an application has passed of its part of a window: the begin, the middle, the end.

    Attributes:
        scheduler: the application's.
        due: warp instruction of its program at which the next one is.
        length: warp instructions of its part.
        passed: how the machine was then.
        place, launch: of the application, as it began.
    """

    scheduler: SkippingScheduler
    due: int = 0
    length: int = 0
    passed: list[Snapshot] = field(factory=list)
    place: int = 0
    launch: int = 0

    @property
    def over(self) -> bool:
        """Whether all three are passed."""
        return len(self.passed) == 3

    @property
    def left(self) -> int:
        """Warp instructions up to the next one."""
        return self.due - self.scheduler.executed

    def passes(self, now: Snapshot) -> None:
        """The application is at the next one."""
        if not self.passed:
            self.place, self.launch = self.scheduler.executed, self.scheduler.launch
            self.scheduler.is_warm()
        self.passed.append(now)
        half = -(-self.length // 2)
        self.due = self.place + (half if len(self.passed) == 1 else self.length)

    def span(self) -> Span:
        """What lies between them."""
        begin, middle, end = self.passed
        halves = middle.since(begin), end.since(middle)
        return Span(self.place, self.launch, end.since(begin), halves)


@define(eq=False, slots=False, repr=False)
class WindowPace(MeasuringPace):
    """Windows are parts of launches.

    A window begins to be timed when all applications have come to where they warm up.  Where its
    length is in cycles, all are measured in the same ones.  Where it is in instructions, each is
    measured from its place on until it has issued that number, and all go on until the last one
    has.

    Attributes:
        places: by application, where windows are measured.
        strata: of each window the part of all instructions that it stands for, and its stratum.
        timed: of each window, cycles and warp instructions by application, those before it was
            warm included.
    """

    places: Sequence[Sequence[int]] = field(kw_only=True)
    strata: Sequence[tuple[float, int]] = field(kw_only=True)
    timed: list[tuple[int, Sequence[int]]] = field(factory=list)
    _number: int = 0
    """Number of the window that is next, or open."""
    _begins: Sequence[int] = ()
    """Where that window begins to be timed, in warp instructions of each application."""
    _open: bool = False
    _arrived: set[int] = field(factory=set)

    def skips(self, scheduler: SkippingScheduler) -> bool:
        if self._open:
            return False
        if self._number == self.plan.windows:
            scheduler.stop()
            return False
        if not self._begins:
            self._begins = [self._begin_of(app) for app in range(len(self.places))]
        return scheduler.executed < self._begins[scheduler.app]

    def goes_around(self) -> bool:
        """All but the first one may begin in a second run of theirs."""
        return True

    def may_time(self, scheduler: SkippingScheduler) -> bool:
        assert self.machine is not None
        self._arrived.add(scheduler.app)
        if not self._open and len(self._arrived) == len(self.places):
            self._open = True
            self.machine.env.start(self._window(self.machine))
            for other in self.machine.schedulers:
                if other is not scheduler:
                    other.process.wake.now()
        return self._open

    def _begin_of(self, app: int) -> int:
        """Where the window begins to be timed, in warp instructions.

        The last ones of a program's only run are not beyond where they would end with it: a tail
        would count as often as windows end with it.
        """
        place = self.places[app][self._number]
        if not app:
            place = min(place, self.totals[app] - self._issued_in(self.plan.length, app))
        return place - self._issued_in(self._warm_up, app)

    @property
    def _warm_up(self) -> Extent:
        assert self.plan.warm is not None
        return self.plan.warm

    def _issued_in(self, extent: Extent, app: int) -> int:
        """Warp instructions of an extent, as windows so far tell."""
        if extent.unit == "instructions":
            return extent.count
        cycles = sum(cycles for cycles, _ in self.timed)
        return extent.count * sum(each[app] for _, each in self.timed) // max(cycles, 1)

    def _window(self, machine: Machine) -> Generator[int, None, None]:
        begun = Snapshot.of(machine)
        if self.plan.length.unit == "cycles":
            yield from self._warm(machine)
            marks = yield from self._measure_cycles(machine)
        else:
            marks = yield from self._measure_instructions(machine)
        timed = Snapshot.of(machine).since(begun)
        self.timed.append((timed.cycle, timed.issued.tolist()))
        spans = [each.span() for each in marks]
        if all(span.whole.issued[app] for app, span in enumerate(spans)):
            self.windows.append(Window(spans, *self.strata[self._number]))
        self._number += 1
        self._begins = ()
        self._open = False
        self._arrived.clear()
        for scheduler in _skipping(machine):
            scheduler.pause()

    def _warm(self, machine: Machine) -> Generator[int, None, None]:
        """For some cycles, or until the window's place if they are before the program's begin."""
        first = _skipping(machine)[0]
        place = self.places[0][self._number]
        if first.executed:
            yield from self._pass(machine, machine.env.now + self._warm_up.count)
            return
        while first.executed < place and not self._over(machine):
            yield self._soon(machine, place - first.executed)

    def _measure_cycles(self, machine: Machine) -> Generator[int, None, list[Marks]]:
        """All applications in the same cycles, until each has issued something."""
        begun, length = Snapshot.of(machine), self.plan.length.count
        marks = [Marks(scheduler) for scheduler in _skipping(machine)]
        _pass_all(marks, begun)
        yield from self._pass(machine, begun.cycle + -(-length // 2))
        _pass_all(marks, Snapshot.of(machine))
        yield from self._pass(machine, begun.cycle + length)
        while not self._over(machine) and not (Snapshot.of(machine).issued > begun.issued).all():
            yield 1
        _pass_all(marks, Snapshot.of(machine))
        return marks

    def _measure_instructions(self, machine: Machine) -> Generator[int, None, list[Marks]]:
        """Measure each application from its place on, until the last has issued the length."""
        length = self.plan.length.count
        marks = []
        for scheduler in _skipping(machine):
            place = self.places[scheduler.app][self._number]
            marks.append(Marks(scheduler, place, length))
        while not all(each.over for each in marks) and not self._over(machine):
            for each in marks:
                while not each.over and each.left <= 0:
                    each.passes(Snapshot.of(machine))
            if left := [each.left for each in marks if not each.over]:
                yield self._soon(machine, min(left))
        end = Snapshot.of(machine)
        for each in marks:
            while not each.over:
                each.passes(end)
        return marks

    def _pass(self, machine: Machine, due: int) -> Generator[int, None, None]:
        while machine.env.now < due and not self._over(machine):
            yield min(due - machine.env.now, LOOK_CYCLES)

    def _soon(self, machine: Machine, instructions: int) -> int:
        """Cycles in which an application surely has not issued more."""
        most = len(machine.sms) * machine.config.sm.schedulers
        return min(max(instructions // most, 1), LOOK_CYCLES)

    def _over(self, machine: Machine) -> bool:
        return not any(scheduler.in_flight() for scheduler in machine.schedulers)


def _pass_all(marks: Sequence[Marks], now: Snapshot) -> None:
    """All applications are at their next one."""
    for each in marks:
        each.passes(now)


def _skipping(machine: Machine) -> list[SkippingScheduler]:
    """The machine's schedulers."""
    found: list[Any] = machine.schedulers
    return found
