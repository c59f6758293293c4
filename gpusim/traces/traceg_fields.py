"""Fields of a line of a .traceg file: masks of lanes, their addresses, lines of a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpusim.core.warp_program import INACTIVE
from gpusim.traces.blocks import WARP_SIZE

_MOST_LINES: Final = 1 << 31
"""Numbers of lines of a source are below it."""

_LIST: Final = 0
_STRIDE: Final = 1
_DELTAS: Final = 2
"""Modes of the addresses of lanes."""


def mask_of(field: str) -> int:
    """The mask of a warp's active lanes."""
    mask = int(field, 16)
    if mask >> WARP_SIZE:
        raise ValueError(f"the mask has more than {WARP_SIZE} bits")
    return mask


def in_lanes(mask: int, fields: Sequence[str]) -> list[int]:
    """The addresses of all lanes, `INACTIVE` where one takes no part.

    Args:
        mask: of the active lanes.
        fields: mode and addresses of these, as a line has them.
    """
    found = _addresses(fields, mask.bit_count())
    if len(found) == WARP_SIZE:
        return found
    address = [INACTIVE] * WARP_SIZE
    for one in found:
        lowest = mask & -mask
        address[lowest.bit_length() - 1] = one
        mask ^= lowest
    return address


def _addresses(fields: Sequence[str], lanes: int) -> list[int]:
    """The addresses of the active lanes, from the lowest on."""
    mode = int(fields[0])
    if mode == _LIST:
        _check_count(mode, len(fields) - 1, lanes)
        return [_not_negative(int(one, 16)) for one in fields[1 : 1 + lanes]]
    if mode != _STRIDE and mode != _DELTAS:
        raise ValueError(f"address mode {mode}; allowed: 0 (list), 1 (stride), 2 (deltas)")
    first = _not_negative(int(fields[1], 16))
    if mode == _STRIDE:
        step = int(fields[2])
        _not_negative(first + step * (lanes - 1))
        return [first + step * place for place in range(lanes)]
    _check_count(mode, len(fields) - 2, lanes)
    found = [first]
    for delta in fields[2 : 1 + lanes]:
        first = _not_negative(first + int(delta))
        found.append(first)
    return found


def _not_negative(address: int) -> int:
    if address < 0:
        raise ValueError("an address is negative")
    return address


def needed_fields(mode: str, mask: int) -> int:
    """Fields from the mode of addresses on to the last of the lanes of a mask."""
    return 3 if int(mode) == _STRIDE else 1 + mask.bit_count()


def _check_count(mode: int, listed: int, lanes: int) -> None:
    """Refuse a list that has fewer numbers than there are active lanes."""
    if mode == _DELTAS and listed < lanes - 1:
        raise ValueError(f"{listed} address deltas for {lanes} active lanes")
    if mode == _LIST and listed < lanes:
        raise ValueError(f"{listed} addresses for {lanes} active lanes")


def line_number(text: str) -> int:
    """The number of a source's line.

    Raises:
        ValueError: it is none, or of a source that no compiler takes.
    """
    number = int(text)
    if not 0 <= number < _MOST_LINES:
        raise ValueError(f"line {text[:20]} of a source: must be below 2**31")
    return number
