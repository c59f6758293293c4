"""Components: the parts of a machine, as far as reports, results and checks need them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from attrs import fields_dict
from mypy_extensions import mypyc_attr

from gpusim.core.counters import CounterRow, counter_rows
from gpusim.core.errors import UserError
from gpusim.core.law import Law
from gpusim.core.metrics import Metric, place_metrics


@mypyc_attr(allow_interpreted_subclasses=True)
class Component:
    """A part of a machine.

    What it counts is in attrs classes made with `gpusim.core.counters.count`; the headline numbers
    that are made of these stand beside them (`gpusim.core.metrics.declare_metrics`).

    Attributes:
        name: for messages, such as ``"l2[3]"``.
        path: where its counters are in the results, such as ``"l2"`` or ``"tlb/L1"``.
        instance: which of the components with that path it is.
        label: what ``{}`` stands for in the headline numbers of its counters.
        laws: what holds between its counters at the end of a run, summed over all components with
            its path; a name of another component's has the path in front, ``"walk.requests"``.
        states: names of states that warps are in only while they wait for it.
        state_family: what these have in common with others (`gpusim.core.states.FAMILIES`).
        state_numbers: what stands for each of them in trails and ledgers; components that name the
            same state have the same number.  The machine sets them before the first cycle.
    """

    name: str
    path: str
    instance: int = 0
    laws: Sequence[Law] = ()
    states: ClassVar[tuple[str, ...]] = ()
    state_family: ClassVar[str] = "translation"
    state_numbers: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The last part of its path."""
        return stated_place(self)[0].rpartition("/")[2]

    def in_flight(self) -> int:
        """What it has not finished: 0 once everything has drained."""
        return 0

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        yield from ()

    def warnings(self) -> Iterable[str]:
        """What a user should know at the end of the run, a sentence each."""
        return ()

    def policies(self) -> Iterable[tuple[str, object]]:
        """The policies that it asks, each with its key in the model, such as ``"tlb.L2.fill"``."""
        return ()

    def recordable(self) -> Iterable[tuple[str, Any]]:
        """What can be recorded of it: names of event tables, each with the probe for its rows."""
        return ()

    def app_counters(self, app: int) -> Iterable[object]:
        """The component's counters of one application: attrs objects."""
        return ()

    def shared_counters(self) -> Iterable[object]:
        """The component's counters that belong to no single application: attrs objects."""
        return ()

    def counter_rows(self, apps: Sequence[str]) -> Iterator[CounterRow]:
        """All counters, one row each.

        Args:
            apps: names of the applications, in the order of their indices.
        """
        path, instance = stated_place(self)
        for app, name in enumerate(apps):
            for counters in self.app_counters(app):
                yield from counter_rows(path, instance, name, counters)
        for counters in self.shared_counters():
            yield from counter_rows(path, instance, "", counters)

    def counter_classes(self, apps: int) -> Iterator[type]:
        """The classes of its counters, for `apps` applications."""
        for app in range(apps):
            yield from map(type, self.app_counters(app))
        yield from map(type, self.shared_counters())


def stated_place(component: Component) -> tuple[str, int]:
    """Path and instance of a component, whose class may state them: as Python reads them."""
    stated: Any = component
    return stated.path, stated.instance


def metrics_of(components: Iterable[Component], apps: int) -> list[Metric]:
    """The headline numbers of components and of their policies.

    Raises:
        UserError: a policy counts something under a name that its component uses.
        ValueError: two numbers have the same name.
    """
    counted: dict[tuple[str, str, type], None] = {}
    for component in components:
        for cls in component.counter_classes(apps):
            counted[stated_place(component)[0], component.label, cls] = None
    names: dict[tuple[str, str], type] = {}
    for path, _, cls in counted:
        for name in fields_dict(cls):
            other = names.setdefault((path, name), cls)
            if other is not cls:
                raise UserError(
                    f"{path}: {other.__name__} and {cls.__name__} both count {name!r}; "
                    f"counters of one component have different names"
                )
    return place_metrics(counted)
