"""Progress of a sweep on a terminal; where stderr is none, a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpusim.cli.console import stderr_console
from gpusim.cli.how_far import clock_text
from gpusim.studies.sweep.pause import Brake

if TYPE_CHECKING:
    from gpusim.studies.sweep.progress import SweepProgress

_MAX_WIDTH = 100
_SLOWEST = 3
_LINE_SECONDS = 30.0


@contextmanager
def sweep_progress(title: str) -> Iterator[Callable[[SweepProgress], None]]:
    """A callback for `gpusim.studies.sweep.run.run_sweep`."""
    console = stderr_console()
    started = time.monotonic()
    if not console.is_terminal:
        yield _Lines(started)
        return
    width = min(console.width, _MAX_WIDTH)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda progress: live.update(
            show(progress, title, time.monotonic() - started, width), refresh=True
        )


class WatchedSweep:
    """A sweep that is watched on a page, and braked from there.

    Args:
        title: of the page.
        clock: seconds of real time.

    Attributes:
        brake: of the sweep.
    """

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._clock = clock
        self._began = clock()
        self._last: SweepProgress | None = None
        self.brake = Brake()

    def also(self, report: Callable[[SweepProgress], None]) -> Callable[[SweepProgress], None]:
        """A callback that keeps the sweep's progress, and calls another callback with it."""

        def keep(progress: SweepProgress) -> None:
            self._last = progress
            report(progress)

        return keep

    def state(self) -> dict[str, Any]:
        """What there is to show, in plain JSON types."""
        seconds = self._clock() - self._began
        state = {
            "title": self._title,
            "kind": "sweep",
            "paused": self.brake.paused,
            "seconds": seconds,
        }
        progress = self._last
        if progress is None:
            return {**state, "total": 0, "finished": 0, "done": False}
        return {
            **state,
            "total": progress.total,
            "finished": progress.total - progress.left,
            "reused": progress.reused,
            "failed": progress.failed,
            "failures": progress.failures,
            "running": [[name, round(since, 1)] for name, since in progress.running],
            "runs_a_minute": 60 * (progress.done + progress.failed) / seconds if seconds else None,
            "seconds_left": progress.seconds_left,
            "done": not progress.left,
        }


def show(progress: SweepProgress, title: str, elapsed: float, width: int) -> Panel:
    """The panel: how far, how long, and what takes so long."""
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(ratio=1)
    line.add_column(no_wrap=True)
    finished = progress.total - progress.left
    line.add_row(
        ProgressBar(total=max(progress.total, 1), completed=finished),
        Text(f"{finished}/{progress.total} runs  {clock_text(elapsed)}, {_left(progress)} left"),
    )
    parts: list[RenderableType] = [line, Text(_counts(progress), no_wrap=True, overflow="ellipsis")]
    parts += [
        Text(f"{clock_text(seconds):>8}  {label}", no_wrap=True, overflow="ellipsis")
        for label, seconds in progress.running[:_SLOWEST]
    ]
    return Panel(Group(*parts), title=Text(title, overflow="ellipsis"), width=width)


class _Lines:
    def __init__(self, started: float) -> None:
        self._started = started
        self._due = started + _LINE_SECONDS

    def __call__(self, progress: SweepProgress) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _LINE_SECONDS
        finished = progress.total - progress.left
        print(
            f"{finished}/{progress.total} runs ({_counts(progress)}), "
            f"{clock_text(now - self._started)}, {_left(progress)} left",
            file=sys.stderr,
            flush=True,
        )


def _counts(progress: SweepProgress) -> str:
    counts = {
        "failed": progress.failed,
        "done": progress.done,
        "running": len(progress.running),
        "there before": progress.reused,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "nothing yet"


def _left(progress: SweepProgress) -> str:
    return "?" if progress.seconds_left is None else clock_text(progress.seconds_left)
