"""Parameters of programs: what is allowed, and the class that holds those of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, get_type_hints

from attrs import Attribute, field, frozen
from attrs.validators import in_

from gpusim.core.errors import UserError

Bound: TypeAlias = float | str | Callable[..., float]
"""A number, the name of another parameter, or a function of those that its own parameters name."""


def number(
    default: float | None, least: Bound = 1, most: Bound | None = None, multiple: Bound = 0
) -> Any:
    """A parameter that is a number; None is allowed if it is the default.

    Args:
        default: its value where none is set.
        least: the least that is allowed.
        most: the most; None: no limit.
        multiple: what divides it; 0: anything may.
    """

    def check(of: object, attribute: Attribute[Any], value: float | None) -> None:
        if value is None:
            return
        low, lowest = _bound(least, of)
        high, highest = (value, "") if most is None else _bound(most, of)
        if not low <= value <= high:
            allowed = f">= {lowest}" if most is None else f"from {lowest} to {highest}"
            raise ValueError(f"{attribute.name!r} must be {allowed}: {value}")
        unit, shown = _bound(multiple, of)
        if unit and value % unit:
            raise ValueError(f"{attribute.name!r} must be a multiple of {shown}: {value}")

    return field(default=default, validator=check)


def _bound(bound: Bound, of: object) -> tuple[float, str]:
    """A bound as a number, and how it is shown."""
    if isinstance(bound, str):
        limit: float = getattr(of, bound)
        return limit, f"{bound} = {limit}"
    if not callable(bound):
        return bound, str(bound)
    others = {name: getattr(of, name) for name in inspect.signature(bound).parameters}
    limit = bound(**others)
    return limit, f"{limit} ({', '.join(f'{name} = {value}' for name, value in others.items())})"


def choice(default: Any, allowed: Iterable[Any]) -> Any:
    """A parameter that has one of several values."""
    return field(default=default, validator=in_(tuple(allowed)))


def parameters_of(program: str, function: Callable[..., object], given: int) -> type:
    """The frozen attrs class of a function's parameters after the first ones, which it is given.

    Raises:
        UserError: one of them has no default, or a type that cannot be found.
    """
    found = list(inspect.signature(function).parameters.values())[given:]
    for one in found:
        if one.default is one.empty:
            raise UserError(
                f"program {program!r}: its parameter {one.name!r} has no default: write "
                f"{one.name}: int = 1024, or = gpusim.number(1024, 1, 4096) for what has limits"
            )
    try:
        hints = get_type_hints(function) if found else {}
    except NameError as error:
        raise UserError(f"program {program!r}: the type of a parameter: {error}") from error
    body: dict[str, Any] = {one.name: one.default for one in found}
    body["__annotations__"] = {one.name: hints.get(one.name, type(one.default)) for one in found}
    body["__doc__"] = f"Parameters of {program}."
    body |= {"__module__": function.__module__}
    body["__qualname__"] = f"{function.__qualname__}.Parameters"  # where pickle finds it
    return frozen(type("Parameters", (), body))
