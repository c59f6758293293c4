"""Keys that have one of a few values, which the schema names beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from gpusim.config.document import Key
from gpusim.config.structure import Problem
from gpusim.core.errors import nearest

CHOICES: Final = "choices"
"""In the metadata of an attribute of a schema class: the values that it may have."""

_FIRST: Final = object()


def choice_of(*choices: str | int, default: Any = _FIRST) -> Any:
    """An attribute of a schema class that has one of these values.

    Args:
        choices: the values.
        default: what it is unless a model says otherwise: the first, if not told; None: nothing
            (``"none"`` in a model).
    """
    value = choices[0] if default is _FIRST else default
    return attrs.field(default=value, metadata={CHOICES: choices})


def check_choices(config: Any, key: Key = ()) -> Iterator[Problem]:
    """Values of a machine, or of one of its tables, that are none of those that there are."""
    if isinstance(config, Mapping):
        for name, table in config.items():
            yield from check_choices(table, (*key, name))
    elif attrs.has(type(config)):
        for attribute in attrs.fields(type(config)):
            inner, value = (*key, attribute.name), getattr(config, attribute.name)
            if choices := attribute.metadata.get(CHOICES):
                none = ("none",) if attribute.default is None else ()
                if value not in choices and not (none and value is None):
                    yield Problem(inner, _refusal(value, (*none, *map(str, choices))))
            else:
                yield from check_choices(value, inner)


def _refusal(value: object, allowed: tuple[str, ...]) -> str:
    hint = nearest(value, allowed) if isinstance(value, str) else ""
    return f"not allowed{hint}; allowed: {', '.join(allowed)}"
