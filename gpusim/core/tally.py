"""Sums of counters: what headline numbers and conservation laws are made of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from attrs import fields_dict, frozen

from gpusim.core.counters import CounterRow
from gpusim.core.errors import nearest

_TERM = re.compile(r"(?:(\d+) \* )?(?:([\w/-]+)\.)?(\w+)")


@frozen(repr=False)
class Term:
    """A counter in a sum.

    Attributes:
        factor: how often it counts.
        path: the component that counts it; empty: the one that the sum belongs to.
        counter: its name.
    """

    factor: int
    path: str
    counter: str


@frozen(repr=False)
class Sum:
    """A sum of counters; as text ``"lookups - 2 * hits + walk.requests"``.

    Attributes:
        text: how it was written.
        terms: what is added up.
    """

    text: str
    terms: tuple[Term, ...]


def sum_of(text: str) -> Sum:
    """The sum that is written in a text, such as ``"l1.hits + l1.misses"``.

    Raises:
        ValueError: the text is no sum.
    """
    words = re.split(r" ([+-]) ", f" + {text}")[1:]
    return Sum(text, tuple(map(_term, words[::2], words[1::2])))


def _term(sign: str, word: str) -> Term:
    match = _TERM.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is no counter: write 'hits', '2 * hits' or 'walk.requests'")
    factor, path, counter = match.groups()
    return Term(int(f"{sign}{factor or 1}"), path or "", counter)


def check_counted(what: str, wanted: Sum, classes: Sequence[type]) -> None:
    """Refuse a sum of counters that some attrs classes do not have.

    Raises:
        ValueError: `what` names such a counter.
    """
    counted = [name for cls in classes for name in fields_dict(cls)]
    for term in wanted.terms:
        if term.path or term.counter not in counted:
            names = " or ".join(cls.__name__ for cls in classes)
            raise ValueError(
                f"{what} names {term.counter!r}, which {names} does not count"
                f"{nearest(term.counter, counted)}"
            )


class Tally:
    """Counters by component, name and instance, summed over applications."""

    def __init__(self, rows: Iterable[CounterRow]) -> None:
        self._values: dict[tuple[str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for row in rows:
            self.add(row.component, row.name, row.instance, row.value)

    def add(self, path: str, counter: str, instance: int, value: int) -> None:
        """Add to a counter of an instance of `path`."""
        self._values[path, counter][instance] += value

    def total(self, path: str, wanted: Sum) -> int | None:
        """A sum over all instances of `path`; None where one of its counters does not exist."""
        total = 0
        for term in wanted.terms:
            values = self._values.get((term.path or path, term.counter))
            if values is None:
                return None
            total += term.factor * sum(values.values())
        return total

    def instances(self, path: str, wanted: Sum) -> dict[int, int]:
        """The sum for each instance of `path` that has all of its counters, which are of `path`."""
        found = [(term.factor, self._values.get((path, term.counter), {})) for term in wanted.terms]
        return {
            instance: sum(factor * values[instance] for factor, values in found)
            for instance in found[0][1]
            if all(instance in values for _, values in found)
        }
