"""Checks of the parameters of several programs, beside those of `attrs.validators`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import Attribute


def multiple_of(unit: int) -> Callable[[object, Attribute[Any], int], None]:
    """Validator of a whole number that `unit` divides."""

    def check(_: object, attribute: Attribute[Any], value: int) -> None:
        if value % unit:
            raise ValueError(f"{attribute.name!r} must be a multiple of {unit}: {value}")

    return check
