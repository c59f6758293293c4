"""The live view of a run: samples of it, and commands to pause, step and continue."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator
from threading import Condition
from typing import Any

from gpusim.machine import Machine
from gpusim.runs.monitor import (
    HEARTBEAT_CYCLES,
    REPORT_SECONDS,
    Activity,
    running,
    sample,
)

_SAMPLES = 600
"""Kept for the lines over time."""

_WAITING = 200
"""Lines about what waits for what, at most."""


class LiveRun:
    """Samples a machine while it runs, and makes it wait at a command of the page.

    The machine's thread calls `attach` and is the only one that touches the machine; the server's
    threads see what it left (`state`) and leave commands.

    Args:
        title: of the page.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._changed = Condition()
        self._paused = False
        self._until: int | None = None
        """The cycle in which a step ends."""
        self._seen: dict[str, Any] = {"title": title, "kind": "run", "cycle": 0}
        self._history: deque[dict[str, float | None]] = deque(maxlen=_SAMPLES)
        self._last: Activity | None = None

    def attach(self, machine: Machine) -> None:
        """For `gpusim.simulate`: looks on from the first cycle."""
        machine.env.start(self._watch(machine), onlooker=True)

    def state(self) -> dict[str, Any]:
        """What there is to show now."""
        with self._changed:
            return {**self._seen, "history": list(self._history), "paused": self._paused}

    def command(self, name: str, cycles: int) -> None:
        """Pause, go on, or go on for some cycles."""
        with self._changed:
            self._paused = name == "pause"
            self._until = self._seen["cycle"] + cycles if name == "step" else None
            self._changed.notify_all()

    def end(self) -> None:
        """The run has ended, however it did."""
        with self._changed:
            self._seen = {**self._seen, "done": True}

    def _watch(self, machine: Machine) -> Generator[int, None, None]:
        due = 0.0
        while running(machine):
            now = machine.env.now
            reached = self._until is not None and now >= self._until
            if reached or self._paused or time.monotonic() >= due:
                self._look(machine)
                due = time.monotonic() + REPORT_SECONDS
            if reached:
                self._paused, self._until = True, None
            with self._changed:
                while self._paused:
                    self._changed.wait()
            left = HEARTBEAT_CYCLES if self._until is None else self._until - now
            yield max(1, min(HEARTBEAT_CYCLES, left))

    def _look(self, machine: Machine) -> None:
        """Take a sample."""
        progress = sample(machine)
        activity = progress.activity
        since = activity if self._last is None else activity.since(self._last)
        self._last = activity
        waiting = [line for one in machine.components() for line in one.waiting()]
        seen = {
            "title": self._title,
            "kind": "run",
            "cycle": progress.cycle,
            "warps": [progress.warps_done, progress.warps_running, progress.warps_total],
            "transactions": progress.transactions,
            "in_flight": dict(progress.in_flight),
            "hit_rates": activity.tlb_hit_rates,
            "shares": since.shares,
            "waiting": waiting[:_WAITING],
            "done": False,
        }
        with self._changed:
            self._seen = seen
            self._history.append(
                {
                    "cycle": progress.cycle,
                    "ipc": since.ipc,
                    **since.tlb_hit_rates,
                    "seconds": time.monotonic(),
                }
            )
