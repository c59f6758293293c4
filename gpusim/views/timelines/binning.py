"""Binning of events: exact sums in whole cycles, gathered chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpusim.views.timelines.window import Window

Ints = NDArray[np.integer[Any]]


class Occupancy:
    """Cycles that intervals spend in each bin, by group (a state, say).

    An interval that begins `o` cycles into bin `k` occupies ``w - o`` cycles of it and all `w` of
    each bin behind it; one that ends there takes the same away.  So it takes two cells each to
    note how much more is occupied than in the bin before, and a running sum tells the rest: the
    work does not depend on how long intervals are.

    Args:
        window: the bins.
        groups: how many groups there are.
    """

    def __init__(self, window: Window, groups: int = 1) -> None:
        self._window = window
        # Two more cells: what ends with the window ends in the bin behind it.
        self._steps = np.zeros((groups, window.bins + 2), np.int64)

    def add(self, begin: Ints, end: Ints, group: Ints | int = 0, weight: Ints | int = 1) -> None:
        """Count intervals ``[begin, end)``, each for its group; what lies outside is cut off.

        An interval counts as often as its weight tells.
        """
        window = self._window
        for edge, sign in ((begin, weight), (end, np.negative(weight))):
            since = np.clip(edge.astype(np.int64), window.begin, window.end) - window.begin
            number = since // window.bin_cycles
            offset = since - number * window.bin_cycles
            cell = number + np.asarray(group, np.int64) * self._steps.shape[1]
            steps = self._steps.reshape(-1)
            np.add.at(steps, cell, sign * (window.bin_cycles - offset))
            np.add.at(steps, cell + 1, sign * offset)

    def cycles(self) -> NDArray[np.int64]:
        """Cycles in each bin: ``(bins, groups)``."""
        return np.cumsum(self._steps, axis=1)[:, : self._window.bins].T


class Tally:
    """Events in each bin, by group, each of which happens in one cycle.

    Args:
        window: the bins.
        groups: how many groups there are.
    """

    def __init__(self, window: Window, groups: int = 1) -> None:
        self._window = window
        self._counts = np.zeros((window.bins, groups), np.int64)

    def add(self, cycle: Ints, group: Ints | int = 0) -> None:
        """Count events, each for its group; those outside the window are left out."""
        window = self._window
        inside = (cycle >= window.begin) & (cycle < window.end)
        number = (cycle[inside].astype(np.int64) - window.begin) // window.bin_cycles
        groups = np.broadcast_to(group, cycle.shape)[inside].astype(np.int64)
        np.add.at(self._counts.reshape(-1), number * self._counts.shape[1] + groups, 1)

    def counts(self) -> NDArray[np.int64]:
        """Events in each bin: ``(bins, groups)``."""
        return self._counts
