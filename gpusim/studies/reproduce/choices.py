"""Choices where a paper is silent: their readings, and the sources that support each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

GRADES = ("A", "B", "C", "D")
"""Grades of sources: released code or data; stated by a paper; inferred; from memory, or ours."""


@frozen(kw_only=True)
class Reading:
    """One way to understand it.

    Attributes:
        name: for tables and pictures.
        set: keys of the model, and of the workload (``workload.KEY``), with their values.
        variants: designs, and what is run in their place.
        source: what supports it.
        grade: of the source, one of `GRADES`.
        taken: whether the models and programs are as it says.
    """

    name: str
    source: str
    grade: str
    set: Mapping[str, Any] = field(factory=dict, hash=False)
    variants: Mapping[str, str] = field(factory=dict, hash=False)
    taken: bool = False


@frozen(kw_only=True)
class Choice:
    """Something that a paper leaves open.

    Attributes:
        name: for tables and pictures.
        about: what is open.
        reading: its readings; one of them is taken.
    """

    name: str
    about: str
    reading: tuple[Reading, ...]

    @property
    def taken(self) -> Reading:
        """The reading that the shipped models and programs follow."""
        return next(one for one in self.reading if one.taken)

    @property
    def others(self) -> Iterator[Reading]:
        """The rest."""
        return (one for one in self.reading if not one.taken)


@frozen(kw_only=True)
class Study:
    """How the choices of a paper are tried.

    Attributes:
        workloads: where they are tried, of those that a figure has; none: on all.
        key: which the shifted runs change: it should not matter.
        values: of the key, one a shifted run, around the model's own.
    """

    workloads: tuple[str, ...] = ()
    key: str = "l2.latency"
    values: tuple[str, ...] = ()


def check_choice(choice: Choice) -> str:
    """What is wrong with a choice; empty: nothing."""
    names = [one.name for one in choice.reading]
    if len(set(names)) < len(names):
        return "two readings have one name"
    if sum(one.taken for one in choice.reading) != 1:
        return "exactly one reading must have taken = true"
    if wrong := next((one for one in choice.reading if one.grade not in GRADES), None):
        return f"{wrong.name}: grade {wrong.grade!r}; allowed: {', '.join(GRADES)}"
    keys = {frozenset(one.set) for one in choice.reading}
    if len(keys) > 1:
        return "all readings must set the same keys"
    return "what is taken must have no variants" if choice.taken.variants else ""
