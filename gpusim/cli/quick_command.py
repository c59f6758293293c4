"""Commands that begin at once: what is typed is taken as it is where nothing has to be converted.

Typer asks pydantic to convert each option, even one that is not given; to import that takes a tenth
of a second, as long as numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typer.core import TyperCommand

_TEXTS = frozenset({"model", "workload", "variant", "settings", "scale"})
"""Parameters of commands that are texts, or lists of texts."""


class QuickCommand(TyperCommand):
    """A command whose texts, flags and absent options nothing converts."""

    def get_params(self, ctx: Any) -> list[Any]:
        return take_as_typed(super().get_params(ctx))


def take_as_typed(parameters: list[Any]) -> list[Any]:
    """Parameters of a command, which are then converted only where they have to be."""
    for one in parameters:
        if not isinstance(one.process_value, partial):
            one.process_value = partial(_processed, one, one.process_value)
    return parameters


def _processed(parameter: Any, convert: Callable[..., Any], context: Any, value: Any) -> Any:
    """The value of a parameter, as its `process_value` makes it."""
    several = parameter.multiple or parameter.nargs == -1
    text = parameter.name in _TEXTS and value and isinstance(value, list if several else str)
    if value is None and not parameter.required:
        found: Any = () if several else None
    elif text or isinstance(value, int):  # a flag, or a default
        found = value
    else:
        return convert(context, value)
    if parameter.callback is not None:
        found = parameter.callback(context, parameter, found)
    return found
