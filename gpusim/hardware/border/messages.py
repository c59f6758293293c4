"""What is told across the border, word by word.

A message begins with its cycle.  Its second word has the kind of the message in the lowest bits,
and further numbers above them.  The words behind it are of each kind: the end that sends them
(`memory_end`, `sm_end`, `trails`) and the one that takes them out have them in the same order.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from gpusim.core.unboxed import Words

REQUEST: Final[i64] = 0
"""A request enters the network.  To memory."""
TRANSLATION: Final[i64] = 1
"""A translation goes to the walkers.  To memory."""
LEFT: Final[i64] = 2
"""A request has left the network, which has room for another one.  To the SMs."""
REPLY: Final[i64] = 3
"""A request is answered.  To the SMs."""
ADMITTED: Final[i64] = 4
"""The walkers have taken a translation out of their queue.  To the SMs."""
TRANSLATED: Final[i64] = 5
"""A translation is answered.  To the SMs."""
STALLED: Final[i64] = 6
"""A bank of the L2 cache has been stalled.  To the SMs."""

KIND_BITS: Final[i64] = 4
"""Of the second word, for the kind of the message."""
KINDS: Final[i64] = 15

BYTE: Final[i64] = 8
"""Bits of a `Kind`, and of a `State`."""
BYTES: Final[i64] = 255
PLACE: Final[i64] = 16
"""Bits of the number of a bank, link, SM or application, and of flits."""
PLACES: Final[i64] = 65535

_LONG_BITS: Final = 62
_LONG: Final = (1 << _LONG_BITS) - 1


def tell_long(told: Words, value: int) -> None:
    """Put in an integer of any length, not a negative one: a mask of bytes has more than 64 bits.

    Each word but the last one has 62 bits of it, from the lowest ones on, and is negative.
    """
    while value > _LONG:
        told.append(-1 - (value & _LONG))
        value >>= _LONG_BITS
    told.append(value)


def take_long(words: Words) -> int:
    """Take out what `tell_long` has put in."""
    value, shift = 0, 0
    word = words.take()
    while word < 0:
        value |= int(-1 - word) << shift
        shift += _LONG_BITS
        word = words.take()
    return value | int(word) << shift
