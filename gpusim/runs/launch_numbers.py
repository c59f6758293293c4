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
from attrs import define, evolve, frozen
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

    def plus(self, other: _Kernel) -> _Kernel:
        """With the launches of the same kernel on another machine; both have drained."""
        return evolve(
            self,
            launches=self.launches + other.launches,
            blocks=self.blocks + other.blocks,
            amount=self.amount.plus(other.amount),
        )


@frozen(eq=False, repr=False)
class CountedLaunches:
    """What another machine counted while launches ran, of the same applications.

    Attributes:
        rows: the numbers of each launch, in the order in which they began.
        kernels: by application and name.
        facts: what the numbers are, by name.
    """

    rows: Sequence[Mapping[str, int | float]]
    kernels: Mapping[tuple[int, str], _Kernel]
    facts: Mapping[str, SummaryValue]


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

    def counted(self, order: Sequence[tuple[int, int]]) -> CountedLaunches:
        """What was counted until the end, for the numbers of another machine's run.

        Args:
            order: of the launches: application and number.
        """
        return CountedLaunches([self._rows[one] for one in order], self._kernels, self._facts)

    def by_launch(
        self, order: Sequence[tuple[int, int]], others: Sequence[CountedLaunches] = ()
    ) -> ByLaunch:
        """The numbers of all launches and kernels, at the end of the run.

        Args:
            order: of the launches: application and number.
            others: what other machines have counted, whose launches are behind them.
        """
        every = [self.counted(order), *others]
        totals = _totals([one.kernels for one in every])
        kernels = [self._numbers(app, one.amount) for (app, _), one in totals.items()]
        rows = [row for one in every for row in one.rows]
        found = {name: fact for one in every for name, fact in one.facts.items()}
        facts = [
            NumberFacts(
                one.name,
                one.unit,
                one.description,
                all(isinstance(row.get(one.name, 0), int) for row in (*rows, *kernels)),
            )
            for one in self._in_order(found)
        ]
        return ByLaunch(
            facts,
            _matrix(facts, rows),
            [
                KernelFacts(self._machine.names[app], name, one.launches, one.blocks)
                for (app, name), one in totals.items()
            ],
            _matrix(facts, kernels),
        )

    def _in_order(self, found: Mapping[str, SummaryValue]) -> Iterator[SummaryValue]:
        """Numbers that some launch had, in the order of those of the run."""
        names = [*(one.name for one in _LENGTH), *(one.name for one in self._metrics)]
        for name in dict.fromkeys([*names, *found]):
            if name in found:
                yield found[name]

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
        counters = self.read(app)
        if machine.apart is not None:
            counters = counters + machine.apart.ask("launches", app)
        return _Amount(machine.env.now, counters, states)

    def read(self, app: int) -> NDArray[np.int64]:
        """What this process has counted of an application up to this cycle."""
        return self._counters.read(app)

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


def _totals(parts: Sequence[Mapping[tuple[int, str], _Kernel]]) -> dict[tuple[int, str], _Kernel]:
    """The kernels of several machines, by application and name."""
    totals = dict(parts[0])
    for part in parts[1:]:
        for key, kernel in part.items():
            known = totals.get(key)
            totals[key] = kernel if known is None else known.plus(kernel)
    return totals


def _matrix(
    facts: Sequence[NumberFacts], rows: Sequence[Mapping[str, int | float]]
) -> NDArray[np.float64]:
    """A row a launch or kernel, a column a number; not a number where one does not exist."""
    values = [[row.get(one.name, np.nan) for one in facts] for row in rows]
    return np.array(values, np.float64).reshape(len(rows), len(facts))
