"""Reads the counters that headline numbers are made of, in little time, while a machine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from attrs import fields_dict, frozen
from numpy.typing import NDArray

from gpusim.core.component import Component, stated_place
from gpusim.core.metrics import Metric
from gpusim.core.tally import Tally
from gpusim.machine import Machine

_Getter = tuple[tuple[str, ...], Callable[[Any], tuple[int, ...]]]
"""Names of counters, and what reads them of an object."""


@frozen(eq=False, repr=False)
class _Layout:
    """Where each counter of an application is among the values that are read.

    Attributes:
        components: whose counters are read, in order, with their paths.
        groups: path and name of the counters that are summed over instances.
        order: the positions of their values, group by group.
        starts: where each group begins in `order`.
        single: position, path, name and instance of those that are not summed.
    """

    components: Sequence[tuple[str, Component]]
    groups: Sequence[tuple[str, str]]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    single: Sequence[tuple[int, str, str, int]]


class CounterReader:
    """Reads counters of one application; of none, too, if it is the only one.

    Args:
        machine: whose.
        metrics: the headline numbers that will be made of them.
    """

    def __init__(self, machine: Machine, metrics: Sequence[Metric]) -> None:
        self._machine = machine
        self._shared = len(machine.tenants) == 1
        self._wanted: dict[str, set[str]] = {}
        self._by_instance: set[tuple[str, str]] = set()
        for metric in metrics:
            for path, counter in _counters_of(metric):
                self._wanted.setdefault(path, set()).add(counter)
                if not metric.formula.pooled:
                    self._by_instance.add((path, counter))
        self._getters: dict[tuple[str, type], _Getter] = {}
        self._layouts: dict[int, _Layout] = {}

    def read(self, app: int) -> NDArray[np.int64]:
        """What an application has counted up to this cycle."""
        values: list[int] = []
        for path, component in self._layout(app).components:
            for counters in self._counted_by(component, app):
                values += self._getter(path, type(counters))[1](counters)
        return np.array(values, np.int64)

    def tally(self, app: int, values: NDArray[np.int64]) -> Tally:
        """Values that were read, or differences of such, as a tally."""
        layout, tally = self._layout(app), Tally(())
        if layout.groups:
            sums = np.add.reduceat(values[layout.order], layout.starts).tolist()
            for (path, name), value in zip(layout.groups, sums, strict=True):
                tally.add(path, name, 0, value)
        for position, path, name, instance in layout.single:
            tally.add(path, name, instance, int(values[position]))
        return tally

    def _layout(self, app: int) -> _Layout:
        """That of an application, the same in all cycles."""
        found = self._layouts.get(app)
        if found is None:
            found = self._layouts[app] = self._make_layout(app)
        return found

    def _make_layout(self, app: int) -> _Layout:
        components: list[tuple[str, Component]] = []
        groups: dict[tuple[str, str], list[int]] = {}
        single: list[tuple[int, str, str, int]] = []
        position = 0
        for component in self._machine.components():
            path, instance = stated_place(component)
            if path not in self._wanted:
                continue
            components.append((path, component))
            for counters in self._counted_by(component, app):
                for name in self._getter(path, type(counters))[0]:
                    if (path, name) in self._by_instance:
                        single.append((position, path, name, instance))
                    else:
                        groups.setdefault((path, name), []).append(position)
                    position += 1
        lengths = [len(positions) for positions in groups.values()]
        order = [position for positions in groups.values() for position in positions]
        starts = np.cumsum([0, *lengths[:-1]])
        return _Layout(components, list(groups), np.array(order, np.int64), starts, single)

    def _counted_by(self, component: Component, app: int) -> Iterator[object]:
        yield from component.app_counters(app)
        if self._shared:
            yield from component.shared_counters()

    def _getter(self, path: str, cls: type) -> _Getter:
        """Which counters of a class are read, and how."""
        found = self._getters.get((path, cls))
        if found is None:
            names = tuple(name for name in fields_dict(cls) if name in self._wanted[path])
            found = self._getters[path, cls] = names, _tuple_getter(names)
        return found


def _counters_of(metric: Metric) -> Iterator[tuple[str, str]]:
    """Paths and names of the counters that a number is made of."""
    for term in (term for one in metric.formula.sums for term in one.terms):
        for path in (term.path,) if term.path else metric.paths:
            yield path, term.counter


def _tuple_getter(names: Sequence[str]) -> Callable[[Any], tuple[int, ...]]:
    """Gets attributes as a tuple, however many there are."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda counters: tuple(getattr(counters, name) for name in names)
