"""Axes of powers of two, labelled as people write sizes."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from gpusim.views.plots.labels import names_that_fit

_MOST_TICKS = 9
_LEAST_TICKS = 2
_STEP = 1024
_PREFIXES = "KMGTP"
_LETTERS, _BYTE_LETTERS = 4, 7
"""Letters of the longest names: 512K, 512 KiB."""

_LEAST = 2.0**-10
_BYTES = re.compile(r"\b(bytes?|B)\]?$")


def are_powers_of_two(values: NDArray[np.float64]) -> bool:
    """Whether there are several values and all are whole powers of two."""
    return len(values) > 1 and bool((values > 0).all() and (np.log2(values) % 1 == 0).all())


def are_bytes(label: str) -> bool:
    """Whether a label ends with that unit: ``footprint in bytes``, ``line [B]``."""
    return _BYTES.search(label) is not None


def power_ticks(axes: Axes, first: float, last: float, of_bytes: bool = False) -> None:
    """Ticks at powers of two, at every second or third where there are too many for the axis.

    Where it has but one of them there are ticks at quarters of that, too.
    """
    low, high = int(np.floor(np.log2(first))), int(np.floor(np.log2(last)))
    most = max(min(_MOST_TICKS, names_that_fit(axes, _BYTE_LETTERS if of_bytes else _LETTERS)), 2)
    powers = range(low, high + 1, -(-(high - low + 1) // most))
    ticks = [2.0**power for power in powers]
    if sum(first <= tick <= last for tick in ticks) < _LEAST_TICKS:
        quarter = 2.0**high / 4
        places = range(int(np.ceil(first / quarter)), int(last / quarter) + 1)
        ticks = [quarter * place for place in places[:: -(-len(places) // most)]]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(lambda value, _: power_name(value, of_bytes))
    axes.xaxis.set_minor_locator(NullLocator())


def power_name(value: float, of_bytes: bool = False) -> str:
    """A power of two as people write it: 1/8, 64, 8K, 2M; of bytes 64 B, 8 KiB, 2 MiB.

    Below 1/1024 by its exponent.
    """
    if value < 1:
        return f"1/{1 / value:g}" if value >= _LEAST else f"$2^{{{np.log2(value):g}}}$"
    letters = 0
    while value >= _STEP and letters < len(_PREFIXES):
        value /= _STEP
        letters += 1
    letter = _PREFIXES[letters - 1] if letters else ""
    if of_bytes:
        return f"{value:g} {letter}{'i' if letter else ''}B"
    return f"{value:g}{letter}"
