"""Sizes, times and frequencies as they are written in model files: with their units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import NewType

from attrs import field, frozen

Bytes = NewType("Bytes", int)
"""A size in bytes; in files ``"16KiB"``."""

Hertz = NewType("Hertz", int)
"""A frequency; in files ``"1400MHz"``."""

Bandwidth = NewType("Bandwidth", int)
"""Bytes a second; in files ``"12GB/s"``."""

_SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_FREQUENCIES = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}
_TIMES = {"cycle": None, "cycles": None, "ps": 10**12, "ns": 10**9, "us": 10**6}
_BANDWIDTHS = {"B/s": 1, "kB/s": 10**3, "MB/s": 10**6, "GB/s": 10**9}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]+)\s*")
_MOST_TEXT, _MOST_DIGITS = 64, 18
"""Most letters and digits of a quantity: numbers have 64 bits."""


@frozen
class Duration:
    """A length of time, in cycles of the clock it belongs to or in seconds.

    Attributes:
        amount: number of cycles, or of seconds.
        in_seconds: which of the two.
        text: how it was written.
    """

    amount: Fraction
    in_seconds: bool = False
    text: str = field(default="", eq=False)

    def cycles(self, clock: Hertz) -> int:
        """Whole cycles of `clock`, rounded up: nothing happens earlier than it may."""
        return ceil(self.amount * clock) if self.in_seconds else ceil(self.amount)

    def __str__(self) -> str:
        return self.text or f"{self.amount} cycles"


def cycles(count: int) -> Duration:
    """`count` cycles."""
    return Duration(Fraction(count), text=f"{count} cycles")


def _split(
    text: str, units: Mapping[str, int] | Mapping[str, int | None], what: str
) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text) if len(text) <= _MOST_TEXT else None
    if not match or match[2] not in units:
        meant = _meant(match[1], match[2], units) if match else ""
        raise ValueError(
            f"{text[:80]!r} is not a {what}{meant}: a number and one of {', '.join(units)}"
        )
    if len(match[1].partition(".")[0]) > _MOST_DIGITS:
        raise ValueError(f"{text!r} is too large: at most {_MOST_DIGITS} digits are allowed")
    return Fraction(match[1]), match[2]


def _meant(number: str, unit: str, units: Iterable[str]) -> str:
    """``"; did you mean '16KiB'?"`` for a unit that differs in its case, or in an ``i``."""
    for one in units:
        short = one.casefold().replace("i", "")
        if unit.casefold() in (one.casefold(), short, short[:-1] if len(short) > 1 else ""):
            return f"; did you mean '{number}{one}'?"
    return ""


def parse_bytes(text: str) -> Bytes:
    """``"16KiB"`` as bytes.

    Raises:
        ValueError: not a size, or not a whole number of bytes.
    """
    number, unit = _split(text, _SIZES, "size")
    size = number * _SIZES[unit]
    if size.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return Bytes(int(size))


def is_size(text: str) -> bool:
    """Whether `parse_bytes` takes it."""
    try:
        parse_bytes(text)
    except ValueError:
        return False
    return True


def parse_hertz(text: str) -> Hertz:
    """``"1400MHz"`` as Hz.

    Raises:
        ValueError: not a frequency, zero, or a broken number of Hz.
    """
    number, unit = _split(text, _FREQUENCIES, "frequency")
    frequency = number * _FREQUENCIES[unit]
    if not frequency or frequency.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of Hz above zero")
    return Hertz(int(frequency))


def parse_bandwidth(text: str) -> Bandwidth:
    """``"12GB/s"`` as bytes a second.

    Raises:
        ValueError: not a bandwidth, zero, or a broken number of bytes a second.
    """
    number, unit = _split(text, _BANDWIDTHS, "bandwidth")
    rate = number * _BANDWIDTHS[unit]
    if not rate or rate.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bytes a second above zero")
    return Bandwidth(int(rate))


def parse_duration(text: str) -> Duration:
    """``"500 cycles"`` or ``"12ns"`` as a `Duration`.

    Raises:
        ValueError: not a time, or a broken number of cycles.
    """
    number, unit = _split(text, _TIMES, "time")
    scale = _TIMES[unit]
    if scale is None:
        if number.denominator != 1:
            raise ValueError(f"{text!r} is not a whole number of cycles")
        return Duration(number, text=text.strip())
    return Duration(number / scale, in_seconds=True, text=text.strip())


def format_bytes(size: int) -> str:
    """The shortest exact way to write `size` with a unit."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _SIZES[unit] == 0:
            return f"{size // _SIZES[unit]}{unit}"
    return f"{size}B"


def format_hertz(frequency: int) -> str:
    """A frequency in MHz where that is a whole number, else in Hz."""
    return f"{frequency}Hz" if frequency % 10**6 else f"{frequency // 10**6}MHz"


def format_bandwidth(rate: int) -> str:
    """A bandwidth in the largest unit in which it is a whole number."""
    unit = next(unit for unit in reversed(_BANDWIDTHS) if rate % _BANDWIDTHS[unit] == 0)
    return f"{rate // _BANDWIDTHS[unit]}{unit}"
