"""The brake of a sweep: who watches it may hold its runs back."""

from __future__ import annotations

from threading import Lock


class Brake:
    """Tells a sweep how many runs it may begin; what is under way ends by itself.

    The sweep asks and tells in its own thread, those who watch it command in theirs.
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
        """How many of so many places may be taken."""
        left = self._left
        return free if left is None else min(free, left)

    def began(self) -> None:
        """A run has."""
        with self._lock:
            if self._left:
                self._left -= 1
