"""Counters: plain ints on attrs classes, which components increment and results collect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import field, fields, frozen


def count(description: str, unit: str = "1") -> Any:
    """A counter attribute of an attrs class: starts at 0, knows its unit and what it counts."""
    return field(default=0, metadata={"unit": unit, "description": description})


@frozen
class CounterRow:
    """One counter of one component for one application, as results store it.

    Attributes:
        component: path in the machine, such as ``"tlb/L2"`` or ``"dram"``.
        instance: which of the components of that name.
        app: name of the application; empty for counters that belong to none.
        name, value, unit, description: the counter itself.
    """

    component: str
    instance: int
    app: str
    name: str
    value: int
    unit: str
    description: str


def counter_rows(component: str, instance: int, app: str, counters: Any) -> Iterator[CounterRow]:
    """All counters of an attrs instance made with `count`."""
    for attribute in fields(type(counters)):
        yield CounterRow(
            component,
            instance,
            app,
            attribute.name,
            getattr(counters, attribute.name),
            attribute.metadata["unit"],
            attribute.metadata["description"],
        )


def ratio(part: int | float | None, whole: int | float | None, scale: float = 1) -> float | None:
    """``part * scale / whole``, or None where that does not exist."""
    if part is None or not whole:
        return None
    return part * scale / whole
