"""Barriers in shared memory (mbarrier): arrivals and bytes that a phase waits for.

A barrier is 64 bits, which programs do not look into: arrivals that are pending, those of each
phase, bytes that are pending, and the phase (our layout).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusim.ptx.values import Value

if TYPE_CHECKING:
    from gpusim.ptx.frame import Frame, Lanes

_COUNT: Final = 20
_MASK: Final = (1 << _COUNT) - 1
_BYTES: Final = 23
_HALF: Final = 1 << (_BYTES - 1)


def made(pending: int, expected: int, bytes_: int, phase: int) -> int:
    """A barrier's word."""
    return pending | expected << _COUNT | (bytes_ + _HALF) << 2 * _COUNT | phase << 63


def started(count: int) -> int:
    """A barrier before its first phase."""
    return made(count, count, 0, 0)


def changed(word: int, arrivals: int = 0, bytes_: int = 0, dropped: int = 0) -> int:
    """A barrier after arrivals, and bytes that are expected (or, below 0, have come)."""
    pending, expected = word & _MASK, (word >> _COUNT & _MASK) - dropped
    waited = (word >> 2 * _COUNT & ((1 << _BYTES) - 1)) - _HALF + bytes_
    phase = word >> 63
    pending -= arrivals
    if pending <= 0 and waited == 0:
        pending, phase = expected, phase ^ 1
    return made(max(pending, 0), expected, waited, phase)


def phase_of(words: Value) -> Value:
    """The phase of barriers, 0 or 1."""
    return words.astype(np.uint64) >> np.uint64(63)


def came(count: int, word: int, _: int) -> int:
    """A barrier after bytes have come."""
    return changed(word, 0, -count)


def change(
    frame: Frame, lanes: Lanes | None, address: Value, change: Callable[[int, int], int]
) -> Value:
    """Change barriers thread by thread; returns what each thread has found."""
    frame.batch.changed = True
    found: Value = np.zeros(np.size(address), np.uint64)
    lanes = frame.lanes if lanes is None else lanes
    address = address if np.ndim(address) else np.broadcast_to(address, frame.count)
    for part in frame.batch.parts_of(lanes, "shared", address, 8):
        words = part.data.view(np.uint64)
        for place, at in enumerate((part.offset // 8).tolist()):
            word = int(words[at])
            if len(found) <= place:
                found = np.resize(found, place + 1)
            found[place] = word
            words[at] = change(word, place)
    return found
