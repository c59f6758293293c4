"""How far a run is, and how long it will take, as far as that is known."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from attrs import frozen

from gpusim.results.quantity import percent
from gpusim.runs.monitor import Activity, Progress

_REPORTS = 8
"""Rates are means over this number of reports: over some two seconds."""

_WHOLE = 0.99
"""A share of an expected number that is not exceeded before the end."""


@frozen(eq=False, repr=False)
class HowFar:
    """How far a run is.

    Attributes:
        share: that is done, from 0 to 1, of what is known.
        text: in words.
        seconds_left: about how long it still takes; None: that is not known.
        of_launches: whether this is of the launches so far; others may follow.
    """

    share: float
    text: str
    seconds_left: float | None
    of_launches: bool

    @property
    def left(self) -> str:
        """The time left, in words."""
        if self.seconds_left is None:
            return "time left unknown"
        of_launches = " of these launches" if self.of_launches else ""
        return f"about {clock_text(self.seconds_left)} left{of_launches}"


class Pace:
    """Follows the reports of a run, or of several one after the other.

    Args:
        expected: about how many transactions a run has in all; None: that is not known.
        clock: seconds of real time.

    Attributes:
        elapsed: seconds since the run began.
        recent: what happened of late.
        transactions_a_second: how fast it was of late.
    """

    def __init__(self, expected: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.elapsed = 0.0
        self.transactions_a_second = 0.0
        self.recent: Activity
        self._expected = expected
        self._clock = clock
        self._run = ""
        self._began = clock()
        self._seen: deque[tuple[float, Activity]] = deque(maxlen=_REPORTS)

    def see(self, progress: Progress) -> HowFar:
        """Take the newest report, and say how far the run is."""
        now = self._clock()
        if progress.run != self._run:
            self._run, self._began = progress.run, now
            self._seen.clear()
        before, first = self._seen[0] if self._seen else (self._began, None)
        self._seen.append((now, progress.activity))
        self.recent = progress.activity.since(first) if first else progress.activity
        self.elapsed = now - self._began
        seconds = now - before
        self.transactions_a_second = self.recent.transactions / seconds if seconds > 0 else 0.0
        return how_far(progress, self._expected, self.elapsed, self.transactions_a_second)


def how_far(
    progress: Progress, expected: int | None, elapsed: float, transactions_a_second: float
) -> HowFar:
    """How far a run is: by the transactions of its workload if they are known, else by blocks.

    Blocks are those of the launches so far: a program does not say how many will follow.

    Args:
        progress: of the run.
        expected: about how many transactions it has in all; None: that is not known.
        elapsed: seconds that it has run.
        transactions_a_second: how fast it has been of late.
    """
    blocks = f"launch {progress.launches:,}, {_part(progress.blocks_done, progress.blocks_known)}"
    done = progress.transactions
    if expected and done <= expected:
        share = 1.0 if progress.done else min(done / expected, _WHOLE)
        known = share < _WHOLE and transactions_a_second > 0  # the last ones are under way for long
        left = (expected - done) / transactions_a_second if known else None
        return HowFar(share, f"{percent(share)}, {blocks}", left, of_launches=False)
    share = progress.blocks_done / progress.blocks_known if progress.blocks_known else 0.0
    left = elapsed * (1 - share) / share if share else None
    return HowFar(share, blocks, left, of_launches=True)


def _part(done: int, known: int) -> str:
    return f"{done:,}/{known:,} blocks"


def clock_text(seconds: float) -> str:
    """``m:ss``, or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
