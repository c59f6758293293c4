"""Attributes of gpusim's own traces: whole numbers within bounds, and JSON."""

from __future__ import annotations

import json
from typing import Any

import h5py
import numpy as np

from gpusim.files.hdf5 import get_text

MOST_NOTICE = 4096
"""Characters of what a trace says to its users (our choice)."""


def whole_number(file: h5py.File, name: str, least: int, most: int) -> int:
    """An attribute that is a whole number.

    Raises:
        ValueError: it is none, or out of bounds.
    """
    value = file.attrs[name]
    if np.ndim(value) or not isinstance(value, int | np.integer):
        raise ValueError(f"attribute {name} is {str(value)[:40]!r}; must be a whole number")
    if not least <= value <= most:
        raise ValueError(f"attribute {name} is {value}; allowed: {least} to {most}")
    return int(value)


def parsed(file: h5py.File, name: str) -> Any:
    """The value of an attribute that is JSON.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(get_text(file, name))
    except ValueError as error:
        raise ValueError(f"attribute {name} is no JSON: {error}") from error


def read_notices(file: h5py.File, applications: int) -> list[tuple[int, str]]:
    """What users should know: number of the application, and text.

    Raises:
        ValueError: the attribute `warnings` is no list of such pairs.
    """
    if "warnings" not in file.attrs:
        return []
    values = parsed(file, "warnings")
    pairs = values if isinstance(values, list) else [values]
    for pair in pairs:
        if not (
            isinstance(pair, list)
            and [type(one) for one in pair] == [int, str]
            and 0 <= pair[0] < applications
        ):
            raise ValueError(
                f"attribute warnings has {str(pair)[:40]}; must be a number of an application, "
                f"below {applications}, and a text"
            )
    return [(number, text[:MOST_NOTICE]) for number, text in pairs]
