"""Measurements for a claim, and the verdict whether it holds here, from these two alone."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import isfinite, isnan
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from gpusim.studies.reproduce.claims import Claim

if TYPE_CHECKING:
    import pandas as pd

POINT = 0.01
"""From which difference on hit rates count as different."""

POOR = 0.8
"""A TLB hit rate below this is poor: where MASK (§6) calls miss rates high."""


@frozen
class Measured:
    """What of ours is set beside a claim.

    Attributes:
        values: ours for those of the claim, in its unit.
        holds: of a claim without values: whether it is so here.
        text: more for people.
    """

    values: tuple[float, ...] = ()
    holds: bool | None = None
    text: str = ""


def number(*values: float, text: str = "") -> Measured:
    """Ours for the values of a claim."""
    return Measured(tuple(map(float, values)), text=text)


def most(holds: pd.Series, at_least_half: bool = False) -> Measured:
    """Whether something is so for more than half of the programs.

    Args:
        holds: of each program.
        at_least_half: half of them are enough.
    """
    count = int(holds.sum())
    enough = 2 * count >= len(holds) if at_least_half else 2 * count > len(holds)
    names = ", ".join(map(str, holds.index[holds]))
    return Measured(holds=enough, text=f"{count} of {len(holds)}{f': {names}' if names else ''}")


def all_of(
    values: pd.Series, holds: Callable[[pd.Series], pd.Series], cell: str = "{:+.1f} points"
) -> Measured:
    """Whether something is so for every program; tells each one's number.

    Args:
        values: of each program.
        holds: of numbers, for which it is so.
        cell: how a number is written.
    """
    text = ", ".join(f"{name} {cell.format(value)}" for name, value in values.items())
    return Measured(holds=bool(holds(values).all()), text=text)


def one(value: float, holds: bool, cell: str = "{:.1%}") -> Measured:
    """A single number, and whether it is as the paper says."""
    return Measured(holds=bool(holds), text=cell.format(value))


def mean_points(rates: pd.DataFrame, design: str, baseline: str, least: float = 1.0) -> Measured:
    """Whether the mean hit rate of a design is higher by some percentage points."""
    means = rates[[baseline, design]].mean()
    difference = 100 * float(means[design] - means[baseline])
    return Measured(
        holds=bool(isfinite(difference) and difference >= least),
        text=f"{means[baseline]:.1%} → {means[design]:.1%} ({difference:+.1f} points)",
    )


class Verdict(StrEnum):
    """What becomes of a claim."""

    AGREES = "agrees"
    DIRECTION = "same direction"
    DIFFERS = "differs"
    NOT_IMPLIED = "not implied"
    NOT_MEASURED = "not measured"


def judge(claim: Claim, measured: Measured | None) -> Verdict:
    """The verdict on a claim.

    Without values it agrees if it holds.  With values it agrees if the direction is right and all
    are within the tolerance:

    * ``higher``, ``lower``: the values tell how much; right if ours have their signs.
    * ``equal``: right if they are within the tolerance.
    * ``ordering``: right if ours stand in the same order.
    * ``at least``: right if ours reach them, however far they go beyond.

    A value beyond the bound that follows from the paper itself (`Claim.bound`) is not implied by
    it: where ours do not reach such values, but agree with the others and have every sign that a
    bound leaves, the claim is not implied either.

    Args:
        claim: what the paper says.
        measured: None: nothing.
    """
    if claim.reason or measured is None or any(map(isnan, measured.values)):
        return Verdict.NOT_MEASURED
    if not claim.values:
        assert measured.holds is not None, f"{claim.id} has no values: it holds, or not"
        return Verdict.AGREES if measured.holds else Verdict.DIFFERS
    verdict = _judge(claim, measured.values)
    if verdict is Verdict.AGREES or not any(claim.beyond):
        return verdict
    return _judge_bounded(claim, measured.values)


def _judge(claim: Claim, ours: tuple[float, ...]) -> Verdict:
    if not _is_right(claim, ours):
        return Verdict.DIFFERS
    if claim.direction == "at least" or _is_close(claim, ours):
        return Verdict.AGREES
    return Verdict.DIRECTION


def _judge_bounded(claim: Claim, ours: tuple[float, ...]) -> Verdict:
    """The verdict on a claim some of whose values lie beyond their bounds."""
    pairs = list(zip(claim.values, claim.bound, claim.beyond, ours, strict=True))
    if claim.direction in ("higher", "lower"):
        for value, most, beyond, mine in pairs:
            if beyond and most and mine * value <= 0:
                return Verdict.DIFFERS
    rest = evolve(
        claim,
        values=tuple(value for value, _, beyond, _ in pairs if not beyond),
        bound=(),
    )
    found = _judge(rest, tuple(mine for _, _, beyond, mine in pairs if not beyond))
    return Verdict.NOT_IMPLIED if found is Verdict.AGREES else found


def _is_right(claim: Claim, ours: tuple[float, ...]) -> bool:
    pairs = zip(ours, claim.values, strict=True)
    if claim.direction == "equal":
        return _is_close(claim, ours)
    if claim.direction == "ordering":
        return _order(ours) == _order(claim.values)
    if claim.direction == "at least":
        return all(mine >= theirs for mine, theirs in pairs)
    return all(mine * theirs > 0 for mine, theirs in pairs)


def _is_close(claim: Claim, ours: tuple[float, ...]) -> bool:
    return all(
        abs(mine - theirs) <= margin
        for mine, theirs, margin in zip(ours, claim.values, claim.margins, strict=True)
    )


def _order(values: tuple[float, ...]) -> list[int]:
    return sorted(range(len(values)), key=lambda index: -values[index])
