"""The part of a run that is exported: some of its cycles, and the warps of some of its SMs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.results import Result
from gpusim.views.timelines import Window, window_of

if TYPE_CHECKING:
    import pandas as pd

BINS = 2000
"""Bins of the counters: about as many as a screen has columns."""


@frozen
class View:
    """A part of a run.

    Attributes:
        window: the cycles, in the bins of the counters.
        sms: the SMs whose warps are wanted.
    """

    window: Window
    sms: tuple[int, ...]

    def touched(self, events: pd.DataFrame, begin: str, end: str) -> pd.DataFrame:
        """Events that last some cycles of the window.

        Args:
            events: one a row.
            begin: column of their first cycles.
            end: column of the cycles after their last.
        """
        first, last = self._cut(events, begin, end)
        return events[first < last]

    def within(self, events: pd.DataFrame, begin: str, end: str) -> pd.DataFrame:
        """The events that touch the window, cut off at its ends; columns as for `touched`."""
        first, last = self._cut(events, begin, end)
        return events.assign(**{begin: first, end: last})[first < last]

    def _cut(self, events: pd.DataFrame, begin: str, end: str) -> tuple[pd.Series[int], ...]:
        return tuple(events[name].clip(self.window.begin, self.window.end) for name in (begin, end))


def view_of(result: Result, begin: int | None, end: int | None, sms: Iterable[int] | None) -> View:
    """The view of the cycles ``[begin, end)``; None: all.

    Raises:
        UserError: there are no such cycles or SMs in the run.
    """
    count = result.stall_sums.sizes["sm"]
    wanted = tuple(range(count)) if sms is None else tuple(sorted(set(sms)))
    for sm in wanted:
        if not 0 <= sm < count:
            raise UserError(f"{result.name} has no SM {sm}; allowed: 0 to {count - 1}")
    return View(window_of(result, begin, end, bins=BINS), wanted)
