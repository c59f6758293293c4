"""Whether a claim holds here: from the claim and what was measured, nothing else."""

from __future__ import annotations

from enum import StrEnum
from math import isnan

from attrs import frozen

from gpusim.studies.reproduce.claims import Claim


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


class Verdict(StrEnum):
    """What becomes of a claim."""

    AGREES = "agrees"
    DIRECTION = "same direction"
    DIFFERS = "differs"
    NOT_MEASURED = "not measured"


def judge(claim: Claim, measured: Measured | None) -> Verdict:
    """The verdict on a claim.

    Without values it agrees if it holds.  With values it agrees if the direction is right and all
    are within the tolerance:

    * ``higher``, ``lower``: the values tell how much; right if ours have their signs.
    * ``equal``: right if they are within the tolerance.
    * ``ordering``: right if ours stand in the same order.
    * ``at least``: right if ours reach them, however far they go beyond.

    Args:
        claim: what the paper says.
        measured: None: nothing.
    """
    if claim.reason or measured is None or any(map(isnan, measured.values)):
        return Verdict.NOT_MEASURED
    if not claim.values:
        assert measured.holds is not None, f"{claim.id} has no values: it holds, or not"
        return Verdict.AGREES if measured.holds else Verdict.DIFFERS
    if not _is_right(claim, measured.values):
        return Verdict.DIFFERS
    if claim.direction == "at least" or _is_close(claim, measured.values):
        return Verdict.AGREES
    return Verdict.DIRECTION


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
        abs(mine - theirs) <= max(claim.tolerance * abs(theirs), claim.absolute)
        for mine, theirs in zip(ours, claim.values, strict=True)
    )


def _order(values: tuple[float, ...]) -> list[int]:
    return sorted(range(len(values)), key=lambda index: -values[index])
