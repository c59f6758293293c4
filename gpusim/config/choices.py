"""Keys that have one of a few values, which the schema names beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from gpusim.core.errors import nearest
from gpusim.files.structure import Problem, attributes_of
from gpusim.files.toml_document import Key

CHOICES: Final = "choices"
"""In the metadata of an attribute of a schema class: the values that it may have."""

_FIRST: Final = object()


def choice_of(*choices: str | int, default: Any = _FIRST) -> Any:
    """An attribute of a schema class that has one of these values.

    Args:
        choices: the values.
        default: the value where a model has none; not given: the first choice; None: nothing
            (``"none"`` in a model).
    """
    value = choices[0] if default is _FIRST else default
    return attrs.field(default=value, metadata={CHOICES: choices})


def check_choices(config: Any) -> Iterator[Problem]:
    """Values of a machine that are none of those that there are."""
    for key, _, allowed in wrong_choices(config):
        yield Problem(key, f"not allowed{allowed}")


def wrong_choices(config: Any, key: Key = ()) -> Iterator[tuple[Key, object, str]]:
    """Such values of a machine, or of one of its tables: key, value, and what is allowed."""
    for inner, attribute, value in attributes_of(config, key):
        choices = attribute.metadata.get(CHOICES)
        optional = attribute.default is None
        if choices is None or value in choices or (optional and value is None):
            continue
        allowed = [*(["none"] if optional else []), *map(str, choices)]
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        yield inner, value, f"{hint}; allowed: {', '.join(allowed)}"
