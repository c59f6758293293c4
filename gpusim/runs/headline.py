"""Headline numbers of a run: those that its components declare, and where the warps' cycles went.

A number that does not exist is left out: its component is not there (an ideal machine), or it
would be a division by zero (the hit rate of a TLB that was never asked).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.core.counters import CounterRow, ratio
from gpusim.core.metrics import FRACTION, INSTRUCTIONS, Metric, Number, Scope
from gpusim.core.tally import Tally
from gpusim.results.run_data import ApplicationFacts, SummaryValue


@frozen(eq=False, repr=False)
class StateSums:
    """In which states warps spent their cycles.

    Attributes:
        states: names of the states, with the family of each.
        cycles: (SMs, applications, states) warp-cycles.
    """

    states: Mapping[str, str]
    cycles: NDArray[np.int64]


def headline(
    metrics: Sequence[Metric],
    counters: Iterable[CounterRow],
    warps: StateSums,
    applications: Sequence[ApplicationFacts],
    cycles: int,
    core_hertz: int,
) -> list[SummaryValue]:
    """The headline numbers of a run, and, if several applications share the GPU, of each.

    Args:
        metrics: what the components of the machine declare.
        counters: all counters.
        warps: where their cycles went.
        applications: in the order of their indices.
        cycles: length of the run.
        core_hertz: core clock.

    Returns:
        Numbers of the whole run; then those of each application, with ``"<name>/"`` in front and
        up to the end of its first complete run.
    """
    rows = list(counters)
    states, sums = warps.states, warps.cycles.sum(axis=0)
    whole = Scope(Tally(rows), cycles, core_hertz)
    found = list(_headline(metrics, whole, sums.sum(axis=0), states))
    if len(applications) > 1:
        for app, own_sums in zip(applications, sums, strict=True):
            own = Scope(Tally(row for row in rows if row.app == app.name), app.end, core_hertz)
            found += (
                evolve(value, name=f"{app.name}/{value.name}")
                for value in _headline(metrics, own, own_sums, states)
            )
    return found


def _headline(
    metrics: Sequence[Metric], scope: Scope, sums: NDArray[np.int64], states: Mapping[str, str]
) -> Iterator[SummaryValue]:
    cycles, hertz = scope.cycles, scope.core_hertz
    yield SummaryValue("cycles", cycles, "cycles", "length of the run")
    yield SummaryValue("core_clock", hertz, "Hz", "core clock, the unit of cycles")
    yield SummaryValue("time", cycles / hertz, "s", "simulated time")
    yield from counted_numbers(metrics, scope, sums, states)


def counted_numbers(
    metrics: Sequence[Metric], scope: Scope, sums: NDArray[np.int64], states: Mapping[str, str]
) -> Iterator[SummaryValue]:
    """The headline numbers that are made of counters, and those of the states of warps.

    Args:
        metrics: what the components of the machine declare.
        scope: what they are made of.
        sums: (states,) warp-cycles.
        states: names of the states, with the family of each.
    """
    scope = _with_instructions(scope, metrics)
    for metric in metrics:
        number, _ = _evaluate(metric, scope)
        for value in _if_any(metric.name, number, metric.unit, metric.description):
            yield evolve(value, later=metric.later)
    yield from _states(sums, states)


def broken_formulas(
    metrics: Sequence[Metric], counters: Iterable[CounterRow], cycles: int, core_hertz: int
) -> Iterator[str]:
    """Headline numbers that are left out as their formulas fail, a sentence each.

    Args:
        metrics: what the components of the machine declare.
        counters: all counters.
        cycles: length of the run.
        core_hertz: core clock.
    """
    scope = _with_instructions(Scope(Tally(counters), cycles, core_hertz), metrics)
    for metric in metrics:
        _, problem = _evaluate(metric, scope)
        if problem:
            yield f"the headline number {metric.name!r} is left out: {problem}"


def _with_instructions(scope: Scope, metrics: Sequence[Metric]) -> Scope:
    """The scope with the number of instructions, for rates per thousand instructions."""
    found = [metric for metric in metrics if metric.name == INSTRUCTIONS]
    return evolve(scope, instructions=_evaluate(found[0], scope)[0]) if found else scope


def _evaluate(metric: Metric, scope: Scope) -> tuple[Number, str]:
    """A headline number, and why it cannot be made of the counters; empty if it can."""
    try:
        return metric.value(scope), ""
    except Exception as error:  # noqa: BLE001  (users' own formulas may raise anything)
        return None, f"{type(error).__name__}: {error}"


def _states(sums: NDArray[np.int64], states: Mapping[str, str]) -> Iterator[SummaryValue]:
    total = int(sums.sum())
    yield SummaryValue("warp_cycles", total, "warp-cycles", "lives of all warps, in cycles")
    cycles_of = dict(zip(states, sums.tolist(), strict=True))
    translation = sum(cycles_of[state] for state in states if states[state] == "translation")
    yield from _if_any(
        "share_translation",
        ratio(translation, total),
        FRACTION,
        "share of warp-cycles waiting for translation",
    )
    for state, cycles in cycles_of.items():
        yield from _if_any(
            f"share_{state}",
            ratio(cycles, total),
            FRACTION,
            f"share of warp-cycles in the state {state!r}",
        )


def _if_any(name: str, value: Number, unit: str, description: str) -> Iterator[SummaryValue]:
    """A number, unless it does not exist."""
    if value is not None:
        yield SummaryValue(name, value, unit, description)
