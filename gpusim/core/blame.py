"""What is to blame for a state: a part of a trail that tells why its state lasted.

A state of a trail (`gpusim.core.request`) may carry a blame beside the number of the state.  The
state of the warp stays what it is, so that sums over states do not change; how much of a state was
whose fault is summed apart.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gpusim.core.request import CONTINUES, Piece

STATE: Final = 255
"""Mask of the number of the state."""

_SHIFT: Final = 8
_BLAME: Final = 15


class Blame(IntEnum):
    """Why an L2 bank looks nothing up."""

    MERGE_LIST = 1
    """The MSHR of a line or sector has no room for one more request."""
    MSHRS = 2
    """All MSHRs are taken."""
    DRAM = 3
    """The way to DRAM is full."""
    REPLIES = 4
    """The way back to the SMs is full."""


def blamed(state: int, blame: int) -> int:
    """A state with its blame."""
    return state | blame << _SHIFT


def blame_of(piece: int) -> int:
    """The blame of a state, or 0."""
    return piece >> _SHIFT & _BLAME


def whole(pieces: list[Piece]) -> list[Piece]:
    """Pieces of states without blame, as they would be if none had been noted.

    Args:
        pieces: the last one first.
    """
    found: list[Piece] = []
    joins = False
    for piece, begin, end in pieces:
        state, until = piece & STATE, end
        if joins and found[-1][0] == state:
            until = found.pop()[2]
        found.append((state, begin, until))
        joins = piece & CONTINUES != 0
    return found
