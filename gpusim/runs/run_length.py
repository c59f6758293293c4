"""Amounts as they are written in options: ``"50kcycles"``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""Prefixes of units."""

MOST: Final = 10**18
"""The largest amount of anything that is counted: no run has as many."""

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kMG]?)\s*([a-z]+)")


def parse_amount(text: str, unit: str) -> int:
    """``"50kcycles"`` as a whole number of `unit`.

    Raises:
        ValueError: it is none above 0, or more than `MOST`.
    """
    match = _AMOUNT.fullmatch(text.strip())
    amount = Fraction(match[1]) * SCALES[match[2]] if match and match[3] == unit else Fraction(0)
    if amount.denominator != 1 or amount <= 0:
        raise ValueError(f"{text!r}: write a whole number above 0 with its unit, such as 20k{unit}")
    if amount > MOST:
        raise ValueError(f"{text[:80]!r}: must be at most {MOST:.3g}{unit}")
    return int(amount)
