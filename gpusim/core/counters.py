"""Counters: plain ints on attrs classes, which components increment and results collect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from attrs import field, fields


def count(description: str, unit: str = "1", *, later: bool = False, falls: bool = False) -> Any:
    """A counter attribute of an attrs class: starts at 0, knows its unit and what it counts.

    It may be read in any cycle, so it never falls: what takes time is added when it has ended.

    Args:
        description: what it counts.
        unit: of its value.
        later: it came after digests were defined: neither it nor a headline number that is made of
            it counts in them, so that runs keep theirs.
        falls: whether it may fall all the same, as it tells how many of something there are now.
    """
    facts = {"unit": unit, "description": description, "later": later, "falls": falls}
    return field(default=0, metadata=facts)


def falling(counters: Any) -> frozenset[str]:
    """Names of the counters of an attrs instance made with `count` that may fall."""
    return frozenset(
        attribute.name
        for attribute in fields(type(counters))
        if attribute.metadata.get("falls", False)
    )


def is_largest(counter: str) -> bool:
    """Whether a counter keeps a largest value, by its name: it is no sum of what came."""
    return counter.startswith("most_")


class CounterRow(NamedTuple):
    """One counter of one component for one application, as results store it.

    Attributes:
        component: path in the machine, such as ``"tlb/L2"`` or ``"dram"``.
        instance: which of the components of that name.
        app: name of the application; empty for counters that belong to none.
        name, value, unit, description: the counter itself.
        later: as in `count`.
    """

    component: str
    instance: int
    app: str
    name: str
    value: int
    unit: str
    description: str
    later: bool = False


def counter_rows(component: str, instance: int, app: str, counters: Any) -> Iterator[CounterRow]:
    """All counters of an attrs instance made with `count`."""
    for name, unit, description, later in _facts(type(counters)):
        value = getattr(counters, name)
        yield CounterRow(component, instance, app, name, value, unit, description, later)


_FACTS: dict[type, list[tuple[str, str, str, bool]]] = {}


def _facts(cls: type) -> list[tuple[str, str, str, bool]]:
    """Name, unit, description and `later` of the counters of an attrs class."""
    if cls not in _FACTS:
        _FACTS[cls] = [
            (one.name, one.metadata["unit"], one.metadata["description"], one.metadata["later"])
            for one in fields(cls)
        ]
    return _FACTS[cls]


def ratio(part: int | float | None, whole: int | float | None, scale: float = 1) -> float | None:
    """``part * scale / whole``, or None where that does not exist."""
    if part is None or not whole:
        return None
    return part * scale / whole
