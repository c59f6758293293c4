"""Headline numbers of single launches: of what an application counted while one ran.

Counters and the warps' cycles are read when the first block of a launch may be placed, and when
its last one has ended; the numbers are made of the differences.  Where launches of an application
follow each other, what it counted meanwhile is the launch's.  Where several applications share the
GPU, only the application's own counters count, as for its numbers of the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import define, fields_dict, frozen
from numpy.typing import NDArray

from gpusim.core.component import Component, stated_place
from gpusim.core.metrics import Metric, Scope, made_of_largest
from gpusim.core.tally import Tally
from gpusim.hardware.sm.block_scheduler import LaunchRecord
from gpusim.machine import Machine
from gpusim.results.run_data import ByLaunch, KernelFacts, NumberFacts, SummaryValue
from gpusim.runs.headline import counted_numbers

_Getter = tuple[tuple[str, ...], Callable[[Any], tuple[int, ...]]]
"""Names of counters, and what reads them of an object."""

_LENGTH = (
    SummaryValue("cycles", 0, "cycles", "from the first block that could be placed to the end"),
    SummaryValue("time", 0.0, "s", "simulated time of these cycles"),
)


@frozen(eq=False)
class _Amount:
    """What an application has counted: up to a moment, or between two.

    Attributes:
        cycles: the moment, or how many lie between.
        tally: the counters of which headline numbers are made.
        states: (states,) warp-cycles.
    """

    cycles: int
    tally: Tally
    states: NDArray[np.int64]


@define(eq=False)
class _Kernel:
    """All launches of one kernel by an application."""

    launches: int
    blocks: int
    amount: _Amount


class LaunchNumbers:
    """Listens to the launches of a machine's applications.

    Args:
        machine: whose; before its first cycle.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._metrics = [one for one in machine.metrics if not made_of_largest(one)]
        self._counters = _CounterReader(machine, self._metrics)
        self._begun: dict[int, _Amount] = {}
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
        kernels = [self._numbers(one.amount) for one in self._kernels.values()]
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
        self._begun[record.app] = self._now(record.app)

    def _ends(self, record: LaunchRecord) -> None:
        amount, before = self._now(record.app), self._begun.pop(record.app, None)
        amount = _plus(amount, amount if before is None else before, -1)
        self._rows[record.app, record.index] = self._numbers(amount)
        kernel = self._kernels.get((record.app, record.kernel))
        if kernel is None:
            self._kernels[record.app, record.kernel] = _Kernel(1, record.blocks, amount)
            return
        kernel.launches += 1
        kernel.blocks += record.blocks
        kernel.amount = _plus(kernel.amount, amount)

    def _now(self, app: int) -> _Amount:
        """What an application has counted up to this cycle."""
        machine = self._machine
        states = np.array([sm.ledger.sums[app] for sm in machine.sms], np.int64).sum(axis=0)
        return _Amount(machine.env.now, self._counters.read(app), states)

    def _numbers(self, amount: _Amount) -> dict[str, int | float]:
        """The headline numbers of an amount."""
        machine, hertz = self._machine, self._machine.config.clock
        scope = Scope(amount.tally, amount.cycles, hertz)
        states = dict(zip(machine.states, machine.families, strict=True))
        numbers: dict[str, int | float] = {"cycles": amount.cycles, "time": amount.cycles / hertz}
        for value in counted_numbers(self._metrics, scope, amount.states, states):
            self._facts.setdefault(value.name, value)
            numbers[value.name] = value.value
        return numbers


class _CounterReader:
    """Reads the counters of which headline numbers are made.

    Args:
        machine: whose.
        metrics: the numbers.
    """

    def __init__(self, machine: Machine, metrics: Sequence[Metric]) -> None:
        self._shared = len(machine.tenants) == 1
        self._machine = machine
        self._wanted: dict[str, set[str]] = {}
        for path, counter in _counters_of(metrics):
            self._wanted.setdefault(path, set()).add(counter)
        self._getters: dict[tuple[str, type], _Getter] = {}

    def read(self, app: int) -> Tally:
        """Those of an application; those of none, too, if it is the only one."""
        tally = Tally(())
        for component in self._machine.components():
            path, instance = stated_place(component)
            if path not in self._wanted:
                continue
            for counters in self._counted_by(component, app):
                names, get = self._getter(path, type(counters))
                for name, value in zip(names, get(counters), strict=True):
                    tally.add(path, name, instance, value)
        return tally

    def _counted_by(self, component: Component, app: int) -> Iterator[object]:
        yield from component.app_counters(app)
        if self._shared:
            yield from component.shared_counters()

    def _getter(self, path: str, cls: type) -> _Getter:
        """Which counters of a class are read, and how: as a tuple."""
        found = self._getters.get((path, cls))
        if found is None:
            names = tuple(name for name in fields_dict(cls) if name in self._wanted[path])
            found = self._getters[path, cls] = names, _tuple_getter(names)
        return found


def _tuple_getter(names: Sequence[str]) -> Callable[[Any], tuple[int, ...]]:
    """Gets attributes as a tuple, however many there are."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda counters: tuple(getattr(counters, name) for name in names)


def _counters_of(metrics: Sequence[Metric]) -> Iterator[tuple[str, str]]:
    """Paths and names of the counters that numbers are made of."""
    for metric in metrics:
        for term in (term for one in metric.formula.sums for term in one.terms):
            for path in (term.path,) if term.path else metric.paths:
                yield path, term.counter


def _plus(one: _Amount, other: _Amount, factor: int = 1) -> _Amount:
    """Two amounts together; with -1, what was counted between two moments."""
    tally = Tally(())
    tally.add_all(one.tally)
    tally.add_all(other.tally, factor)
    return _Amount(one.cycles + factor * other.cycles, tally, one.states + factor * other.states)


def _matrix(
    facts: Sequence[NumberFacts], rows: Sequence[Mapping[str, int | float]]
) -> NDArray[np.float64]:
    """A row a launch or kernel, a column a number; not a number where one does not exist."""
    values = [[row.get(one.name, np.nan) for one in facts] for row in rows]
    return np.array(values, np.float64).reshape(len(rows), len(facts))
