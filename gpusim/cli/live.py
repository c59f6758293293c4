"""The live view of a run in a terminal: six lines with its progress and what its warps wait for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from operator import itemgetter

from rich.console import Group
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpusim.core.states import family
from gpusim.runs.monitor import Activity, Progress

_REPORTS = 8
"""Rates are means over this number of reports: over some two seconds."""

_MAX_WIDTH = 100
_FRAME = 4
_STATES = 6
_LEAST = 0.005

_COLOURS = {"working": "green", "sm": "magenta", "memory": "cyan", "translation": "yellow"}
"""Colours of the families of states."""


class LiveView:
    """Makes a panel of each report.

    Args:
        title: of the panel.
        width: of the terminal.
        clock: seconds of real time.
    """

    def __init__(self, title: str, width: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._width = min(width, _MAX_WIDTH)
        self._clock = clock
        self._started = clock()
        self._seen: deque[tuple[float, Activity]] = deque(maxlen=_REPORTS)

    def show(self, progress: Progress) -> Panel:
        """The panel for the newest report."""
        now = self._clock()
        before, first = self._seen[0] if self._seen else (self._started, None)
        self._seen.append((now, progress.activity))
        recent = progress.activity.since(first) if first else progress.activity
        lines = (
            self._bar(progress, now - self._started),
            self._rates(progress, recent, now - before),
            self._hits(recent),
            self._states(recent),
        )
        return Panel(Group(*lines), title=Text(self._title), width=self._width)

    def _bar(self, progress: Progress, elapsed: float) -> Table:
        done, total = progress.warps_done, progress.warps_total
        left = clock_text(elapsed * (total - done) / done) if done else "?"
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        line.add_row(
            ProgressBar(total=max(total, 1), completed=done),
            Text(f"{done:,}/{total:,} warps  {clock_text(elapsed)}, {left} left"),
        )
        return line

    def _rates(self, progress: Progress, recent: Activity, seconds: float) -> Text:
        rate = recent.transactions / seconds if seconds > 0 else 0.0
        ipc = "" if recent.ipc is None else f"   IPC {recent.ipc:.3g}"
        return Text(f"{progress.cycle:,} cycles   {rate:,.0f} transactions/s{ipc}", no_wrap=True)

    def _hits(self, recent: Activity) -> Text:
        rates = (
            f"{level} {'–' if rate is None else f'{rate * 100:.1f} %'}"
            for level, rate in recent.tlb_hit_rates.items()
        )
        return Text("TLB hits  " + "  ".join(rates), no_wrap=True)

    def _states(self, recent: Activity) -> Text:
        """The largest shares of the warp-cycles booked of late, as many as fit."""
        line = Text("warps' cycles", no_wrap=True)
        parts = [
            (share, Text(f"  {name} {share * 100:.0f} %", _COLOURS[family(state)]))
            for state, (name, share) in enumerate(recent.shares.items())
            if share and share >= _LEAST
        ]
        for _, part in sorted(parts, key=itemgetter(0), reverse=True)[:_STATES]:
            if line.cell_len + part.cell_len > self._width - _FRAME:
                break
            line.append_text(part)
        return line if parts else line.append("  –")


def clock_text(seconds: float) -> str:
    """``m:ss``, or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
