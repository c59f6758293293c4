"""Measurements of a program that is timed in parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.hardware.sm.untimed.scheduler import Pace
from gpusim.machine.machine import Machine
from gpusim.runs.windows.plan import SamplePlan


@frozen(eq=False, repr=False)
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
            machine.env.now,
            np.array(counted, dtype=np.int64).sum(axis=0),
            np.array(values, dtype=np.int64),
            np.array(sums, dtype=np.int64),
        )

    def since(self, other: Snapshot) -> Snapshot:
        """What was added since an earlier one; its `cycle` is how many have passed."""
        return Snapshot(
            self.cycle - other.cycle,
            self.issued - other.issued,
            self.values - other.values,
            self.sums - other.sums,
        )


@frozen(eq=False, repr=False)
class Span:
    """What a machine did while an application went through its part of a window.

    Attributes:
        place: warp instruction of the application's program with which it began.
        launch: number of its launch.
        whole: what was added.
        halves: what the first half has added and the second one; None: it is a whole launch.
    """

    place: int
    launch: int
    whole: Snapshot
    halves: tuple[Snapshot, Snapshot] | None = None


@frozen(eq=False, repr=False)
class Window:
    """What was measured in one.

    Attributes:
        spans: of each application.
        weight: part of all windows' that it stands for.
        stratum: number of those that are alike.
    """

    spans: Sequence[Span]
    weight: float = 1.0
    stratum: int = 0


@define(eq=False, slots=False, repr=False)
class MeasuringPace(Pace):
    """Times windows of the applications of a machine and skips what is between them.

    Attributes:
        plan: which.
        totals: by application, warp instructions of its whole program.
        windows: what was measured.
        machine: whose; set before the first cycle.
    """

    plan: SamplePlan
    totals: Sequence[int]
    windows: list[Window] = field(factory=list)
    machine: Machine | None = None

    @property
    def planned(self) -> int:
        """How many windows there should be."""
        return self.plan.windows

    def measured(self) -> Sequence[Window]:
        """All windows, once the run has ended."""
        return self.windows
