"""Barriers in shared memory (mbarrier): arrivals and bytes that a phase waits for.

A barrier is 64 bits, which programs do not look into: arrivals that are pending, those of each
phase, bytes that are pending, and the phase (our layout).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusim.ptx.values import Value

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
