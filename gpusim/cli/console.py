"""The console that tables are printed on."""

from __future__ import annotations

from rich.console import Console

_PIPE_WIDTH = 160


def stdout_console() -> Console:
    """Stdout: as wide as the terminal, or wide enough for whole lines in a pipe or a file."""
    console = Console()
    return console if console.is_terminal else Console(width=_PIPE_WIDTH)
