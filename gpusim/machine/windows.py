"""Windows: parts of programs that are timed, at places that stand for the whole."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.hardware.sm.skipping import Pace, SkippingScheduler
from gpusim.machine.machine import Machine
from gpusim.machine.sample_plan import Extent, SamplePlan

LOOK_CYCLES = 10_000
"""How often it is seen, at least, that a program has ended in a window."""


@frozen(eq=False)
class Snapshot:
    """A machine's counters in some cycle.

    Attributes:
        cycle: which.
        issued: warp instructions of each application.
        values: of all counters, in the order of `Machine.counter_rows`.
        sums: (SMs, applications, states) warp-cycles that are booked.
    """

    cycle: int
    issued: NDArray[np.int64]
    values: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def of(cls, machine: Machine) -> Snapshot:
        """What they are now."""
        counted = [[counters.instructions for counters in sm.counters] for sm in machine.sms]
        values = [row.value for row in machine.counter_rows()]
        sums = [sm.ledger.sums for sm in machine.sms]
        return cls(
            machine.env.now, np.array(counted, dtype=np.int64).sum(axis=0),
            np.array(values, dtype=np.int64), np.array(sums, dtype=np.int64),
        )  # fmt: skip

    def since(self, other: Snapshot) -> Snapshot:
        """What was added since an earlier one; its `cycle` is how many have passed."""
        return Snapshot(
            self.cycle - other.cycle, self.issued - other.issued, self.values - other.values,
            self.sums - other.sums,
        )  # fmt: skip


@frozen(eq=False)
class Window:
    """What was measured in one window.

    Attributes:
        places: warp instruction of each application's program with which it began.
        launches: number of the launch of each.
        halves: what its first half and its second one have added.
        whole: both together.
    """

    places: tuple[int, ...]
    launches: tuple[int, ...]
    halves: tuple[Snapshot, Snapshot]
    whole: Snapshot


@define(eq=False, slots=False)
class WindowPace(Pace):
    """Times windows of the applications of a machine and skips what is between them.

    A window begins when all applications have come to their places.

    Attributes:
        plan: how long windows are.
        places: by application, where windows are measured.
        totals: by application, warp instructions of its whole program.
        windows: what was measured.
        machine: whose; set before the first cycle.
        timed: of each window, cycles and warp instructions by application, those before it was
            warm included.
    """

    plan: SamplePlan
    places: Sequence[Sequence[int]]
    totals: Sequence[int]
    windows: list[Window] = field(factory=list)
    machine: Machine | None = None
    timed: list[tuple[int, Sequence[int]]] = field(factory=list)
    _number: int = 0
    """Of the window that is next, or open."""
    _begins: Sequence[int] = ()
    """Where it begins to be timed, in warp instructions of each application."""
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
        return place - self._issued_in(self.plan.warm, app)

    def _issued_in(self, extent: Extent, app: int) -> int:
        """Warp instructions of an extent, as windows so far tell."""
        if extent.unit == "instructions":
            return extent.count
        cycles = sum(cycles for cycles, _ in self.timed)
        return extent.count * sum(each[app] for _, each in self.timed) // max(cycles, 1)

    def _window(self, machine: Machine) -> Generator[int, None, None]:
        number = self._number
        begun = Snapshot.of(machine)
        yield from self._warm(machine)
        before = Snapshot.of(machine)
        places = tuple(scheduler.executed for scheduler in _skipping(machine))
        launches = tuple(scheduler.launch for scheduler in _skipping(machine))
        yield from self._measure(machine, before, 2)
        middle = Snapshot.of(machine)
        yield from self._measure(machine, before, 1)
        after = Snapshot.of(machine)
        timed = after.since(begun)
        self.timed.append((timed.cycle, timed.issued.tolist()))
        if (after.issued > before.issued).all():
            halves = middle.since(before), after.since(middle)
            self.windows.append(Window(places, launches, halves, after.since(before)))
        self._number = number + 1
        self._begins = ()
        self._open = False
        self._arrived.clear()
        for scheduler in _skipping(machine):
            scheduler.pause()

    def _warm(self, machine: Machine) -> Generator[int, None, None]:
        """Until the window's place, or for some cycles if they are behind the program's begin."""
        first = _skipping(machine)[0]
        if self.plan.warm.unit == "cycles" and first.executed:
            yield from self._pass(machine, machine.env.now + self.plan.warm.count)
            return
        yield from self._issue(machine, self.places[0][self._number])

    def _measure(self, machine: Machine, begun: Snapshot, part: int) -> Generator[int, None, None]:
        """Until the first of so many parts of the window has passed."""
        length = self.plan.length
        if length.unit == "cycles":
            yield from self._pass(machine, begun.cycle + -(-length.count // part))
            while not self._over(machine) and not _progress(machine, begun):
                yield 1
            return
        (first, *_) = _skipping(machine)
        place = first.executed - int(Snapshot.of(machine).issued[0] - begun.issued[0])
        yield from self._issue(machine, place + -(-length.count // part))

    def _pass(self, machine: Machine, due: int) -> Generator[int, None, None]:
        while machine.env.now < due and not self._over(machine):
            yield min(due - machine.env.now, LOOK_CYCLES)

    def _issue(self, machine: Machine, place: int) -> Generator[int, None, None]:
        """Until the first application has come to a place of its program."""
        first = _skipping(machine)[0]
        most = len(machine.tenants[0].sms) * machine.config.sm.schedulers
        while first.executed < place and not self._over(machine):
            yield min(max((place - first.executed) // most, 1), LOOK_CYCLES)

    def _over(self, machine: Machine) -> bool:
        return not any(scheduler.in_flight() for scheduler in machine.schedulers)


def _progress(machine: Machine, begun: Snapshot) -> bool:
    return bool((Snapshot.of(machine).issued > begun.issued).all())


def _skipping(machine: Machine) -> list[SkippingScheduler]:
    """The machine's schedulers."""
    found: list[Any] = machine.schedulers
    return found
