"""Runs that differ in a value without meaning, to see how far results rest on chance."""

from __future__ import annotations

import re

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, nearest

_NUMBER = re.compile(r"\d+")


def shifted_value(model: LoadedModel, key: str, number: int) -> str:
    """The value of a key in a shifted run: 0, +1, -1, +2, … in its unit from the model's own.

    Args:
        model: the machine as it is.
        key: dotted, of a whole number or a quantity, such as ``l2.latency``.
        number: of the run, from 0, which is not shifted.

    Returns:
        as ``--set`` takes it.

    Raises:
        UserError: the model has no such key, its value is no number, or it is too small.
    """
    values = {one.key: one.value for one in model.values}
    if key not in values:
        raise UserError(f"--shift {key}: {model.name} has no such key{nearest(key, values)}")
    text = str(values[key])
    found = _NUMBER.match(text)
    if found is None or isinstance(values[key], bool | float):
        raise UserError(f"--shift {key}: {text} is no whole number, with a unit or without")
    step = (number + 1) // 2
    value = int(found[0]) + (step if number % 2 else -step)
    if value <= 0:
        raise UserError(f"--shift {key}: {text} is too small for run {number}, {value}")
    return f"{value}{text[found.end() :]}"
