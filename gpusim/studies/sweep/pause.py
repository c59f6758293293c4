"""The pause control of a sweep: a page that shows it may hold back its further runs."""

from __future__ import annotations

from threading import Lock


class Brake:
    """Limits how many runs a sweep may begin; runs under way end by themselves.

    The sweep calls `room` and `began` in its own thread, the page's server `command` in others.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._left: int | None = None
        """Runs that may begin; None: all."""

    @property
    def paused(self) -> bool:
        """Whether no run may begin."""
        return self._left == 0

    def command(self, name: str, runs: int) -> None:
        """Hold all back (``pause``), let some begin (``step``), or all (``continue``)."""
        with self._lock:
            self._left = {"pause": 0, "step": runs, "continue": None}[name]

    def room(self, free: int) -> int:
        """How many runs may begin now, of `free` free places."""
        left = self._left
        return free if left is None else min(free, left)

    def began(self) -> None:
        """A run has."""
        with self._lock:
            if self._left:
                self._left -= 1
