"""Progress of a sweep, for terminals and pages that show it."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen


@frozen
class SweepProgress:
    """How far a sweep is.

    Attributes:
        total: runs that it needs.
        reused: of these, results that were there before.
        done: results since.
        failed: runs without one.
        running: labels of runs under way, with the seconds since they were handed out, the
            longest first.
        seconds_left: of real time; None if nothing like what is left has been run yet.
        failures: labels of runs without a result, and why each has none.
    """

    total: int
    reused: int
    done: int
    failed: int
    running: tuple[tuple[str, float], ...]
    seconds_left: float | None
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def left(self) -> int:
        """Runs that are not finished."""
        return self.total - self.reused - self.done - self.failed


Report = Callable[[SweepProgress], None]
