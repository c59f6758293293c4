"""The live view of a run: how far it is and what its warps wait for, in a few lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import itemgetter

from rich.console import Group
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpusim.cli.how_far import HowFar, Pace, clock_text
from gpusim.core.states import family
from gpusim.results.quantity import percent
from gpusim.runs.monitor import Activity, Progress

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
        expected: about how many transactions the run has in all; None: that is not known.
        clock: seconds of real time.
    """

    def __init__(
        self,
        title: str,
        width: int,
        expected: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._width = min(width, _MAX_WIDTH)
        self._pace = Pace(expected, clock)

    def show(self, progress: Progress) -> Panel:
        """The panel for the newest report."""
        pace = self._pace
        far = pace.see(progress)
        lines = (
            self._bar(far),
            Text(f"{clock_text(pace.elapsed)}, {far.left}", no_wrap=True),
            self._rates(progress),
            self._hits(pace.recent),
            self._states(pace.recent),
        )
        title = " · ".join(filter(None, (self._title, progress.run)))
        return Panel(Group(*lines), title=Text(title), width=self._width)

    def _bar(self, far: HowFar) -> Table:
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(ratio=1)
        line.add_column(no_wrap=True)
        line.add_row(ProgressBar(total=1.0, completed=far.share), Text(far.text))
        return line

    def _rates(self, progress: Progress) -> Text:
        recent, rate = self._pace.recent, self._pace.transactions_a_second
        ipc = "" if recent.ipc is None else f"   IPC {recent.ipc:.3g}"
        return Text(f"{progress.cycle:,} cycles   {rate:,.0f} transactions/s{ipc}", no_wrap=True)

    def _hits(self, recent: Activity) -> Text:
        rates = (
            f"{level} {'–' if rate is None else percent(rate, 1)}"
            for level, rate in recent.tlb_hit_rates.items()
        )
        return Text("TLB hits  " + "  ".join(rates), no_wrap=True)

    def _states(self, recent: Activity) -> Text:
        """The largest shares of the warp-cycles booked of late, as many as fit."""
        line = Text("warps' cycles", no_wrap=True)
        parts = [
            (share, Text(f"  {name} {percent(share)}", _COLOURS[family(state)]))
            for state, (name, share) in enumerate(recent.shares.items())
            if share and share >= _LEAST
        ]
        for _, part in sorted(parts, key=itemgetter(0), reverse=True)[:_STATES]:
            if line.cell_len + part.cell_len > self._width - _FRAME:
                break
            line.append_text(part)
        return line if parts else line.append("  –")
