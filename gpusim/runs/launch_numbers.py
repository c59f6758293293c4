"""Headline numbers of single launches: of what an application counted while one ran.

Counters and the warps' cycles are read when the first block of a launch may be placed, and when
its last one has ended; the numbers are made of the differences.  Where launches of an application
follow each other, what it counted meanwhile is the launch's.  Where they overlap, in several
streams, it is what all of them did meanwhile; of a kernel, cycles in which several of its launches
were under way count once.  Where several applications share the GPU, only the application's own
counters count, as for its numbers of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.core.metrics import Scope, made_of_largest
from gpusim.hardware.sm.running import LaunchRecord
from gpusim.machine import Machine
from gpusim.results.run_data import ByLaunch, KernelFacts, NumberFacts, SummaryValue
from gpusim.runs.counter_reader import CounterReader
from gpusim.runs.headline import counted_numbers

_LENGTH = (
    SummaryValue("cycles", 0, "cycles", "from the first block that could be placed to the end"),
    SummaryValue("time", 0.0, "s", "simulated time of these cycles"),
)


@frozen(eq=False, repr=False)
class _Amount:
    """What an application has counted: up to a moment, or between two.

    Attributes:
        cycles: the moment, or how many lie between.
        counters: those of which headline numbers are made, as `CounterReader` has read them.
        states: (states,) warp-cycles.
    """

    cycles: int
    counters: NDArray[np.int64]
    states: NDArray[np.int64]

    def plus(self, other: _Amount, factor: int = 1) -> _Amount:
        """With another one together; -1 takes it away, and leaves what was counted since."""
        return _Amount(
            self.cycles + factor * other.cycles,
            self.counters + factor * other.counters,
            self.states + factor * other.states,
        )


@define(eq=False, repr=False)
class _Kernel:
    """All launches of one kernel by an application.

    Attributes:
        launches: that have ended.
        blocks: of these.
        amount: what was counted while one or several of them were under way, up to `begun`.
        under_way: launches that have begun and not ended.
        begun: what had been counted when the first of these began.
    """

    launches: int
    blocks: int
    amount: _Amount
    under_way: int
    begun: _Amount


class LaunchNumbers:
    """Listens to the launches of a machine's applications.

    Args:
        machine: whose; before its first cycle.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._metrics = [one for one in machine.metrics if not made_of_largest(one)]
        self._counters = CounterReader(machine, self._metrics)
        self._begun: dict[tuple[int, int], _Amount] = {}
        self._kernels: dict[tuple[int, str], _Kernel] = {}
        self._rows: dict[tuple[int, int], dict[str, int | float]] = {}
        self._facts: dict[str, SummaryValue] = {one.name: one for one in _LENGTH}
        for scheduler in machine.schedulers:
            scheduler.on_work_begin.listen(self._begins)
            scheduler.on_end.listen(self._ends)

    def by_launch(self, order: Sequence[tuple[int, int]]) -> ByLaunch:
        """The numbers of all launches and kernels, at the end of the run.

        Args:
            order: of the launches: application and number.
        """
        kernels = [self._numbers(app, one.amount) for (app, _), one in self._kernels.items()]
        rows = [self._rows[launch] for launch in order]
        facts = [
            NumberFacts(
                one.name,
                one.unit,
                one.description,
                all(isinstance(row.get(one.name, 0), int) for row in (*rows, *kernels)),
            )
            for one in self._found()
        ]
        return ByLaunch(
            facts,
            _matrix(facts, rows),
            [
                KernelFacts(self._machine.names[app], name, one.launches, one.blocks)
                for (app, name), one in self._kernels.items()
            ],
            _matrix(facts, kernels),
        )

    def _found(self) -> Iterator[SummaryValue]:
        """Numbers that some launch had, in the order of those of the run."""
        names = [*(one.name for one in _LENGTH), *(one.name for one in self._metrics)]
        for name in dict.fromkeys([*names, *self._facts]):
            if name in self._facts:
                yield self._facts[name]

    def _begins(self, record: LaunchRecord) -> None:
        now = self._begun[record.app, record.index] = self._now(record.app)
        kernel = self._kernel(record, now)
        if not kernel.under_way:
            kernel.begun = now
        kernel.under_way += 1

    def _ends(self, record: LaunchRecord) -> None:
        now = self._now(record.app)
        begun = self._begun.pop((record.app, record.index), None)
        kernel = self._kernel(record, now)
        amount = now.plus(now if begun is None else begun, -1)
        self._rows[record.app, record.index] = self._numbers(record.app, amount)
        kernel.launches += 1
        kernel.blocks += record.blocks
        if begun is not None:
            kernel.under_way -= 1
            if not kernel.under_way:
                kernel.amount = kernel.amount.plus(now.plus(kernel.begun, -1))

    def _kernel(self, record: LaunchRecord, now: _Amount) -> _Kernel:
        """What is known of the kernel of a launch."""
        found = self._kernels.get((record.app, record.kernel))
        if found is None:
            found = _Kernel(0, 0, now.plus(now, -1), 0, now)
            self._kernels[record.app, record.kernel] = found
        return found

    def _now(self, app: int) -> _Amount:
        """What an application has counted up to this cycle."""
        machine = self._machine
        states = np.array([sm.ledger.sums[app] for sm in machine.sms], np.int64).sum(axis=0)
        return _Amount(machine.env.now, self._counters.read(app), states)

    def _numbers(self, app: int, amount: _Amount) -> dict[str, int | float]:
        """The headline numbers of what an application has counted."""
        machine, hertz = self._machine, self._machine.config.clock
        scope = Scope(self._counters.tally(app, amount.counters), amount.cycles, hertz)
        states = dict(zip(machine.states, machine.families, strict=True))
        numbers: dict[str, int | float] = {"cycles": amount.cycles, "time": amount.cycles / hertz}
        for value in counted_numbers(self._metrics, scope, amount.states, states):
            self._facts.setdefault(value.name, value)
            numbers[value.name] = value.value
        return numbers


def _matrix(
    facts: Sequence[NumberFacts], rows: Sequence[Mapping[str, int | float]]
) -> NDArray[np.float64]:
    """A row a launch or kernel, a column a number; not a number where one does not exist."""
    values = [[row.get(one.name, np.nan) for one in facts] for row in rows]
    return np.array(values, np.float64).reshape(len(rows), len(facts))
