"""Claims of papers, as data: ``experiments/claims/*.toml``, one a paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Any

from attrs import field, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.files.contents import while_unchanged
from gpusim.files.shipped import data_folder
from gpusim.files.structure import StructureError, structure
from gpusim.files.toml_document import read_document
from gpusim.studies.reproduce.choices import Choice, Study, check_choice
from gpusim.workloads.tables import SCALES

DIRECTIONS = ("higher", "lower", "equal", "ordering", "at least")
SCOPES = ("simulate", "analytic", "hardware")


class Role(StrEnum):
    """What a claim is for.

    What a paper prints of its programs and of its baseline (counts, rates, reuse, footprints,
    bandwidth) is what silent choices may be made by; what a mechanism or an ideal machine does, and
    every comparison of times, is looked at only after that: the score.
    """

    CALIBRATION = "calibration"
    OUTCOME = "outcome"


@frozen(kw_only=True)
class Claim:
    """A statement of a paper.

    Attributes:
        id: the paper's short name, a figure or section, a name.
        figure: id of the figure that measures it; default: the one whose id the claim's begins
            with.
        role: one of `Role`.
        where: in the paper.
        statement: what it says.
        direction: one of `DIRECTIONS`; what `values` mean (`gpusim.studies.reproduce.verdict`).
        scope: one of `SCOPES`: what it takes to check it.
        headline: whether it is a main result.
        values: the paper's numbers; none: only a direction.
        unit: of the values.
        tolerance: how far off ours may be to agree, relative to the paper's.
        absolute: the same in the unit of the values; the larger one counts.
        bound: the most, a number a value, that the paper's own rules and printed baseline allow;
            infinite: no bound is known.  None: of no value.
        derivation: how the bounds follow from what the paper prints.
        measured: what of ours is set beside it.
        reason: why it is not measured; empty: a figure measures it.
        cause: why it comes out as it does, for people.
    """

    id: str
    role: str
    where: str
    statement: str
    direction: str
    figure: str = ""
    scope: str = "simulate"
    headline: bool = False
    values: tuple[float, ...] = ()
    unit: str = ""
    tolerance: float = 0.25
    absolute: float = 0.0
    bound: tuple[float, ...] = ()
    derivation: str = ""
    measured: str = ""
    reason: str = ""
    cause: str = ""

    @property
    def margins(self) -> tuple[float, ...]:
        """How far off the values ours may be to agree."""
        return tuple(max(self.tolerance * abs(value), self.absolute) for value in self.values)

    @property
    def beyond(self) -> tuple[bool, ...]:
        """Of each value: whether it lies beyond its bound by more than its margin."""
        bounds = self.bound or (inf,) * len(self.values)
        return tuple(
            abs(value) - margin > abs(most)
            for value, margin, most in zip(self.values, self.margins, bounds, strict=True)
        )


@frozen(kw_only=True)
class Paper:
    """A paper's claims and figures.

    Attributes:
        name: of its file, and of its page.
        paper: its short name, with which all ids begin.
        title: of the paper.
        model: the machine that its figures use.
        programs: its collection of workloads (``workloads/papers``).
        intro: how its claims were measured, for its page.
        machines: by scale, the variant of the model that lies under all designs; none: the model
            itself.
        claim: its claims, in the order of the paper.
        choice: what it does not say, and what was chosen.
        study: how the choices are tried.
        frozen: the commit after which no choice was changed but for a defect; empty: not yet.
        why: what came out and why, in three sentences.
        cover: id of the figure whose picture its page begins with.
    """

    name: str
    paper: str
    title: str
    model: str
    programs: str
    intro: str
    claim: tuple[Claim, ...]
    machines: Mapping[str, str] = field(factory=dict, hash=False)
    choice: tuple[Choice, ...] = ()
    study: Study = field(factory=Study)
    frozen: str = ""
    why: str = ""
    cover: str = ""

    @property
    def folder(self) -> str:
        """The folder of its figures: a package, so without hyphens."""
        return self.name.replace("-", "_")

    def claims_of(self, figure: str) -> tuple[Claim, ...]:
        """The claims that a figure measures, by its id, in the order of the paper."""
        return tuple(claim for claim in self.claim if _measures(figure, claim))


def _measures(figure: str, claim: Claim) -> bool:
    if claim.reason or claim.figure:
        return claim.figure == figure
    return claim.id == figure or claim.id.startswith(f"{figure}.")


def papers() -> tuple[Paper, ...]:
    """All papers that come with gpusim, by name."""
    return tuple(_shipped(path) for path in sorted(claims_folder().glob("*.toml")))


@while_unchanged(32)
def _shipped(path: Path) -> Paper:
    return read_claims(path)


def claims_folder() -> Path:
    """Where the claims are."""
    return data_folder("experiments") / "claims"


def read_claims(path: Path) -> Paper:
    """A paper's file of claims.

    Raises:
        UserError: it is wrong; the message names file, claim and key.
    """
    data: Mapping[str, Any] = read_document(path).data
    try:
        paper = structure({"name": path.stem, **data}, Paper)
    except StructureError as error:
        lines = [f"{path}: {_key(data, p.key)}: {p.message}" for p in error.problems]
        raise UserError("\n".join(lines)) from error
    for scale in paper.machines:
        _check_word(f"{path}: machines", scale, SCALES)
    for choice in paper.choice:
        if wrong := check_choice(choice):
            raise UserError(f"{path}: choice {choice.name!r}: {wrong}")
    ids = [claim.id for claim in paper.claim]
    for claim in paper.claim:
        where = f"{path}: {claim.id}"
        if not claim.id.startswith(f"{paper.paper}."):
            raise UserError(f"{where}: the id must begin with '{paper.paper}.'")
        if ids.count(claim.id) > 1:
            raise UserError(f"{where}: there are several claims of that id")
        _check_word(f"{where}: role", claim.role, [*map(str, Role)])
        _check_word(f"{where}: direction", claim.direction, DIRECTIONS)
        _check_word(f"{where}: scope", claim.scope, SCOPES)
        if bool(claim.measured) == bool(claim.reason):
            raise UserError(f"{where}: must have either `measured` or `reason`")
        if claim.reason and claim.figure:
            raise UserError(f"{where}: has a `reason` why no figure measures it, and a `figure`")
        if wrong := _wrong_bound(claim):
            raise UserError(f"{where}: bound: {wrong}")
    return paper


def _wrong_bound(claim: Claim) -> str:
    """What is wrong with the bounds of a claim; empty: nothing."""
    if bool(claim.bound) != bool(claim.derivation):
        return "there must be both a `bound` and its `derivation`, or neither"
    if not claim.bound:
        return ""
    if claim.direction == "ordering":
        return "an order has none"
    if len(claim.bound) != len(claim.values):
        return f"must have as many numbers as `values`, {len(claim.values)} (inf: no bound)"
    if not any(claim.beyond):
        return "no value lies beyond its bound by more than the tolerance"
    return ""


def _check_word(where: str, word: str, allowed: Iterable[str]) -> None:
    if word not in allowed:
        raise UserError(f"{where}: {word!r}{nearest(word, allowed)}; allowed: {', '.join(allowed)}")


def _key(data: Mapping[str, Any], key: tuple[str, ...]) -> str:
    """A key for people: claims by their ids."""
    claims = data.get("claim")
    if key[0] == "claim" and len(key) > 1 and isinstance(claims, list):
        table = claims[int(key[1])]
        name = table.get("id") if isinstance(table, Mapping) else None
        return ".".join((str(name or f"claim {int(key[1]) + 1}"), *key[2:]))
    return ".".join(key)
