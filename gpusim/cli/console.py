"""The console that tables are printed on."""

from __future__ import annotations

import os

from rich.console import Console

_PIPE_WIDTH = 160


def stdout_console() -> Console:
    """Stdout: as wide as the terminal, or ``COLUMNS``; else wide enough for whole lines."""
    console = Console()
    told = os.environ.get("COLUMNS", "").isdecimal()
    return console if console.is_terminal or told else Console(width=_PIPE_WIDTH)
