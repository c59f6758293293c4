"""Headline numbers as data, declared beside the counters that they are made of.

What is declared is checked when its module is imported: a counter that has another name now is an
error, and no number that is silently gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from typing import ClassVar

from attrs import evolve, field, fields_dict, frozen

from gpusim.core.counters import is_largest, ratio
from gpusim.core.tally import Sum, Tally, check_counted, sum_of

Number = int | float | None
"""None: it does not exist; a counter is not there, or it would be a division by zero."""

FRACTION = "fraction"
"""Unit of shares and hit rates, from 0 to 1."""

INSTRUCTIONS = "instructions"
"""The headline number by whose thousands rates such as MPKI are stated."""


@frozen(eq=False, repr=False)
class Scope:
    """What headline numbers are made of: a run, or one application up to the end of its first run.

    Attributes:
        tally: its counters.
        cycles: its length.
        core_hertz: the core clock.
        instructions: warp instructions issued, if they are counted.
    """

    tally: Tally
    cycles: int
    core_hertz: int
    instructions: Number = None


class Formula(ABC):
    """How a number is made of counters.

    Attributes:
        pooled: whether it takes all instances together, so that their sums are all that it needs.
    """

    pooled: ClassVar[bool] = False

    @property
    @abstractmethod
    def sums(self) -> Sequence[Sum]:
        """The counters that it is made of."""

    @abstractmethod
    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        """The number, for the components of some paths together."""


@frozen(eq=False, repr=False)
class _Single(Formula):
    """A formula of one sum of counters."""

    counters: Sum = field(converter=sum_of)

    @property
    def sums(self) -> Sequence[Sum]:
        return (self.counters,)


@frozen
class Total(_Single):
    """A sum over all instances."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        return _total(paths, self.counters, scope)


@frozen
class PerCycle(_Single):
    """A sum over all instances by the cycles of the run: a rate, or a mean over time."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        return ratio(_total(paths, self.counters, scope), scope.cycles)


@frozen(eq=False, repr=False)
class MeanPerCycle(_Single):
    """The mean of all instances by the cycles of the run: how long one of them is in use."""

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        found = (scope.tally.instances(path, self.counters).values() for path in paths)
        each = [value for values in found for value in values]
        return ratio(sum(each), len(each) * scope.cycles)


@frozen(eq=False, repr=False)
class GigabytesPerSecond(_Single):
    """Counters of bytes, by the simulated time."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        moved = _total(paths, self.counters, scope)
        return ratio(moved, scope.cycles, scope.core_hertz / 1e9)


@frozen(eq=False, repr=False)
class PerKiloInstruction(_Single):
    """By a thousand warp instructions."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        return ratio(_total(paths, self.counters, scope), scope.instructions, 1000)


@frozen(eq=False, repr=False)
class Most(_Single):
    """The largest of all instances."""

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        each = (scope.tally.instances(path, self.counters).values() for path in paths)
        return max((value for values in each for value in values), default=None)


@frozen(eq=False, repr=False)
class _Pair(Formula):
    """A formula of two sums of counters."""

    part: Sum = field(converter=sum_of)
    whole: Sum = field(converter=sum_of)

    @property
    def sums(self) -> Sequence[Sum]:
        return self.part, self.whole


@frozen
class Ratio(_Pair):
    """One sum by another one, over all instances together."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        return ratio(_total(paths, self.part, scope), _total(paths, self.whole, scope))


@frozen(eq=False, repr=False)
class RatioIfCounted(_Pair):
    """One sum by another one, for a part that is 0 only where the machine does not count it."""

    pooled = True

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        part = _total(paths, self.part, scope)
        return ratio(part, _total(paths, self.whole, scope)) if part else None


@frozen(eq=False, repr=False)
class MeanRatio(_Pair):
    """The mean of the ratios of the instances that have one."""

    def value(self, paths: Sequence[str], scope: Scope) -> Number:
        ratios = []
        for path in paths:
            parts, wholes = (scope.tally.instances(path, one) for one in self.sums)
            ratios += [ratio(parts.get(instance), whole) for instance, whole in wholes.items()]
        found = [one for one in ratios if one is not None]
        return ratio(fsum(found), len(found))


def _total(paths: Sequence[str], counters: Sum, scope: Scope) -> int | None:
    totals = [scope.tally.total(path, counters) for path in paths]
    present = [total for total in totals if total is not None]
    return sum(present) if len(present) == len(totals) else None


@frozen
class Metric:
    """A headline number.

    Attributes:
        name: unique in a machine.  With ``{}`` in it there is one for each path that has the
            counters, such as each TLB level; ``{}`` stands for the components' `label`.
        unit: ``"1"`` for plain numbers.
        description: for the eye; ``{}`` as in the name.
        formula: how it is made.
        paths: where its counters are.
        later: whether it, or a counter of its formula (`gpusim.core.counters.count`), came after
            digests were defined.
    """

    name: str
    unit: str
    description: str
    formula: Formula
    paths: tuple[str, ...] = ()
    later: bool = False

    def value(self, scope: Scope) -> Number:
        """The number."""
        return self.formula.value(self.paths, scope)


def made_of_largest(metric: Metric) -> bool:
    """Whether a number is a largest value of a whole run, which parts of it do not add up to."""
    terms = [term for one in metric.formula.sums for term in one.terms]
    return isinstance(metric.formula, Most) or any(is_largest(term.counter) for term in terms)


_DECLARED: dict[type, tuple[Metric, ...]] = {}


def declare_metrics(counters: type, *metrics: Metric) -> None:
    """Declare the headline numbers that are made of the counters of an attrs class.

    Raises:
        ValueError: one names something that the class does not count.
    """
    for metric in metrics:
        for one in metric.formula.sums:
            check_counted(f"the headline number {metric.name!r}", one, (counters,))
    _DECLARED[counters] = tuple(
        evolve(metric, later=metric.later or _is_later(metric, counters)) for metric in metrics
    )


def _is_later(metric: Metric, counters: type) -> bool:
    facts = fields_dict(counters)
    names = (term.counter for one in metric.formula.sums for term in one.terms)
    return any(facts[name].metadata["later"] for name in names if name in facts)


def declared_metrics() -> Iterator[tuple[type, Metric]]:
    """All that are declared in the modules imported so far, with the class of their counters."""
    yield from ((cls, metric) for cls, metrics in _DECLARED.items() for metric in metrics)


def place_metrics(counted: Iterable[tuple[str, str, type]]) -> list[Metric]:
    """The headline numbers of a machine.

    Args:
        counted: path, label and class of counters, for all counters of the machine.

    Returns:
        them in the order in which their counters come, with names, descriptions and paths.

    Raises:
        ValueError: two have the same name.
    """
    placed: dict[str, Metric] = {}
    declared: dict[str, Metric] = {}
    for path, label, cls in dict.fromkeys(counted):
        for metric in (one for base in cls.__mro__ for one in _DECLARED.get(base, ())):
            name = metric.name.format(label)
            before = placed.get(name)
            if before is None:
                description = metric.description.format(label)
                declared[name] = metric
                placed[name] = evolve(metric, name=name, description=description, paths=(path,))
            elif path not in before.paths or declared[name] != metric:
                if "{}" in metric.name or declared[name] != metric:
                    raise ValueError(f"there are two headline numbers {name!r}")
                placed[name] = evolve(before, paths=(*before.paths, path))
    return list(placed.values())
