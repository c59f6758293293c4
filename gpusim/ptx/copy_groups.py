"""Copies to shared memory that go on beside their warp (cp.async), and who waits for them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

Warps: TypeAlias = NDArray[np.bool_]
"""(warps,) which of them."""


class CopyGroups:
    """Groups of copies of each warp, by the number of their last load.

    Args:
        warps: how many.

    Attributes:
        bulk: (warps,) number of the last load that reports to a barrier in shared memory.
    """

    def __init__(self, warps: int) -> None:
        self._open: Numbers = np.zeros(warps, np.int64)
        self._last: Numbers = np.zeros((warps, 4), np.int64)
        self._count: Numbers = np.zeros(warps, np.int64)
        self.bulk: Numbers = np.zeros(warps, np.int64)

    def copy(self, loads: Numbers, warps: Warps) -> None:
        """The last loads of these warps are copies."""
        self._open = np.where(warps, loads, self._open)

    def report(self, warps: Warps) -> None:
        """All copies so far report to a barrier in shared memory."""
        self.bulk = np.where(warps, np.maximum(self.bulk, self._open), self.bulk)

    def commit(self, warps: Warps) -> None:
        """All copies that are in no group become one."""
        if int(self._count.max()) == self._last.shape[1]:
            self._last = np.concatenate((self._last, np.zeros_like(self._last)), axis=1)
        which = np.flatnonzero(warps)
        self._last[which, self._count[which]] = self._open[which]
        self._count[which] += 1

    def needed(self, youngest: int) -> Numbers:
        """(warps,) the last load of all groups but the youngest ones; 0: there is none."""
        place = self._count - 1 - youngest
        last = np.take_along_axis(self._last, np.maximum(place, 0)[:, None], axis=1)[:, 0]
        return np.where(place >= 0, last, 0)

    @property
    def all(self) -> Numbers:
        """(warps,) the last copy of each."""
        return self._open
