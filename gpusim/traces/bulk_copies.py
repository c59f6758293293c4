"""Copies in bulk (TMA) in Accel-Sim's traces: addresses of the pieces that an instruction moves.

From tracer version 6 on a line goes on behind its width with the address of the barrier that the
copy reports to, whether it is a multicast (then its mask of blocks), its bytes, those of them that
lie outside of the tensor, and the pieces: mode 3, their number and addresses, or mode 4, the first
address, their number and the distance of each from the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

_LIST, _DELTAS = 3, 4


class BulkCopy:
    """What one instruction moves.

    Attributes:
        address: of each piece, in bytes, in global memory.
        multicast: whether several blocks get it.
    """

    __slots__ = ("address", "multicast")

    def __init__(self, address: list[int], multicast: bool) -> None:
        self.address = address
        self.multicast = multicast


def lists_lanes(fields: Sequence[str]) -> bool:
    """Whether the fields behind the width are addresses of lanes, as in earlier versions."""
    return len(fields) > 1 and fields[1].startswith("0x")


def bulk_copy(fields: Sequence[str]) -> BulkCopy:
    """The copy whose fields stand behind the width of its line.

    Raises:
        ValueError, IndexError: they are wrong, or too few.
    """
    multicast = int(fields[1]) != 0
    rest = fields[2 + multicast :]  # its bytes, those outside of the tensor, the mode
    mode = int(rest[2])
    if mode == _LIST:
        count = int(rest[3])
        starts = [int(field, 16) for field in rest[4 : 4 + count]]
    elif mode == _DELTAS:
        count = int(rest[4])
        deltas = [int(field) for field in rest[5 : 4 + count]]
        starts = list(accumulate(deltas, initial=int(rest[3], 16)))[:count]
    else:
        raise ValueError(f"mode {mode} of a copy in bulk; allowed: 3 (list), 4 (deltas)")
    if len(starts) < count:
        raise ValueError(f"{len(starts)} addresses for {count} pieces")
    return BulkCopy(starts, multicast)
