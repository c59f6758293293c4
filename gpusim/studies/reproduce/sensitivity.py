"""The choices of a paper tried: what each reading, and each shift, makes of its claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Protocol

import numpy as np
from attrs import evolve, frozen

from gpusim.core.errors import UserError
from gpusim.core.intervals import student_interval
from gpusim.studies.reproduce.claims import Paper, Role
from gpusim.studies.reproduce.overlay import Overlay
from gpusim.studies.reproduce.run import Judged, Outcome


class Make(Protocol):
    """Makes the figures of a paper."""

    def __call__(self, *, overlay: Overlay) -> Iterable[Outcome]:
        """With something changed."""


TAKEN = "taken"
"""Name of the variation without settings."""


@frozen
class Variation:
    """The claims with one thing changed: a reading, or a shift.

    Attributes:
        choice, reading: names; of the models as they are, and of shifts, both are the same.
        claims: those that were measured, by id.
        idle: policies that acted in none of its runs, by ``"KEY OF THE MODEL/CLASS"``; of a reading
            with designs of its own, those of these designs.
    """

    choice: str
    reading: str
    claims: Mapping[str, Judged]
    idle: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For columns."""
        return self.reading if self.choice == self.reading else f"{self.choice}: {self.reading}"


@frozen
class Sensitivity:
    """How the claims of a paper move with what it leaves open.

    Attributes:
        taken: the models and programs as they are.
        readings: the other ones, one choice at a time.
        refused: readings with idle policies: what was measured says nothing of them.
        shifts: the models as they are, but for a key that should not matter.
    """

    taken: Variation
    readings: tuple[Variation, ...]
    shifts: tuple[Variation, ...]
    refused: tuple[Variation, ...] = ()

    def ids(self, role: Role, *, headline: bool = False) -> list[str]:
        """Claims of a role that were measured with numbers or by yes and no, in their order."""
        return [
            name
            for name, one in self.taken.claims.items()
            if one.claim.role == role
            and (one.claim.headline or not headline)
            and one.measured is not None
        ]

    def without_effect(self) -> list[Variation]:
        """Readings under which every claim has the numbers that it has as the models are."""
        claims = self.taken.claims
        return [
            one
            for one in self.readings
            if all(values_of(one, name) == values_of(self.taken, name) for name in claims)
        ]

    def interval(self, claim: str, index: int) -> tuple[float, float, float] | None:
        """Mean of a value over the shifted runs, and the ends of its 95 % interval (Student's t).

        None: there are less than two.
        """
        found = [value_of(one, claim, index) for one in (self.taken, *self.shifts)]
        interval = student_interval(np.array(found))
        if interval.runs < 2:
            return None
        return interval.mean, interval.low, interval.high


def changes_of(paper: Paper) -> list[tuple[str, str, Overlay]]:
    """What is tried: choice, reading, and what it changes; the models as they are come first."""
    some = Overlay(workloads=paper.study.workloads)
    readings = [
        (one.name, reading.name, evolve(some, settings=reading.set, variants=reading.variants))
        for one in paper.choice
        for reading in one.others
    ]
    key = paper.study.key
    shifts = [(f"{key} = {one}", evolve(some, settings={key: one})) for one in paper.study.values]
    return [(TAKEN, TAKEN, some), *readings, *((name, name, overlay) for name, overlay in shifts)]


def vary_choices(paper: Paper, make: Make) -> Sensitivity:
    """Make a paper's figures under every reading of every choice, one at a time, and shifted.

    A reading one of whose policies acted in no run is refused.

    Raises:
        UserError: a policy of the models as they are acted in no run.
    """
    taken, *others = (
        _variation(choice, reading, overlay, list(make(overlay=overlay)))
        for choice, reading, overlay in changes_of(paper)
    )
    if taken.idle:
        raise UserError(
            f"{paper.name}: {idle_text(taken)} in no run of the models as they are; "
            f"study.workloads needs programs in which it does"
        )
    count = len(others) - len(paper.study.values)
    tried, shifts = others[:count], others[count:]
    readings = tuple(one for one in tried if not one.idle)
    refused = tuple(one for one in tried if one.idle)
    return Sensitivity(taken, readings, tuple(shifts), refused)


def idle_text(variation: Variation) -> str:
    """Which policies did nothing, as the begin of a sentence."""
    names = (f"{kind} of {key}" for key, _, kind in (one.rpartition("/") for one in variation.idle))
    return f"{' and '.join(names)} acted"


def values_of(variation: Variation, claim: str) -> tuple[float, ...]:
    """What was measured for a claim; empty: nothing, or a yes or no."""
    one = variation.claims.get(claim)
    return () if one is None or one.measured is None else one.measured.values


def value_of(variation: Variation, claim: str, index: int) -> float:
    """One of the numbers that were measured for a claim; NaN: there is none."""
    values = values_of(variation, claim)
    return values[index] if index < len(values) else float("nan")


def _variation(
    choice: str, reading: str, overlay: Overlay, outcomes: Sequence[Outcome]
) -> Variation:
    return Variation(choice, reading, dict(_claims(outcomes)), _idle(overlay, outcomes))


def _idle(overlay: Overlay, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Policies that acted in no run; of a reading with designs of its own, of these designs."""
    acts: Counter[str] = Counter()
    for outcome in outcomes:
        for (design, policy), acted in outcome.acts.items():
            if not overlay.variants or design in overlay.variants:
                acts[policy] += acted
    return tuple(policy for policy, acted in acts.items() if not acted)


def _claims(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, Judged]]:
    """Judged claims by id, without NaN; where only some programs ran, those with numbers."""
    for outcome in outcomes:
        for one in outcome.claims:
            numbers = () if one.measured is None else one.measured.values
            if not any(map(isnan, numbers)) and (numbers or not outcome.part):
                yield one.claim.id, one
