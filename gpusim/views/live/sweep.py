"""A sweep that is watched."""

from __future__ import annotations

from typing import Any, Protocol


class Progress(Protocol):
    """How far a sweep is: `gpusim.studies.sweep.progress.SweepProgress`."""

    @property
    def total(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def running(self) -> tuple[tuple[str, float], ...]: ...
    @property
    def seconds_left(self) -> float | None: ...


def sweep_state(title: str, progress: Progress | None) -> dict[str, Any]:
    """What there is to show of a sweep, in plain JSON types."""
    if progress is None:
        return {"title": title, "kind": "sweep", "total": 0, "finished": 0}
    return {
        "title": title,
        "kind": "sweep",
        "total": progress.total,
        "finished": progress.total - progress.left,
        "failed": progress.failed,
        "running": [[name, round(seconds, 1)] for name, seconds in progress.running],
        "seconds_left": progress.seconds_left,
        "done": not progress.left,
    }
