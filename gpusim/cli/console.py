"""The consoles that print tables and progress; text from files is never read as markup."""

from __future__ import annotations

import os
import sys

from rich.console import (
    Console,
    ConsoleOptions,
    ConsoleRenderable,
    RenderableType,
    RenderHook,
    RenderResult,
)
from rich.segment import Segment

from gpusim.core.terminal_text import shown

_PIPE_WIDTH = 160


class _Shown:
    """What is printed, with what a terminal would obey made visible."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            if segment.control:
                yield segment
            else:
                yield Segment(shown(segment.text), segment.style)


class _ShowAll(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(one) for one in renderables]


def stdout_console() -> Console:
    """Stdout: as wide as the terminal, or ``COLUMNS``; else wide enough for whole lines."""
    console = _plain()
    has_width = os.environ.get("COLUMNS", "").isdecimal()
    return console if console.is_terminal or has_width else _plain(width=_PIPE_WIDTH)


def print_paged(*shown: RenderableType) -> None:
    """Print on stdout; on a terminal that is too small for it, a page at a time."""
    console = stdout_console()
    if not console.is_terminal:
        for one in shown:
            console.print(one)
        return
    with console.capture() as captured:
        for one in shown:
            console.print(one)
    text = captured.get()
    if text.count("\n") < console.height:
        sys.stdout.write(text)
    else:
        import pydoc  # takes a tenth of the start of a command

        os.environ.setdefault("LESS", "-R")  # colours, as git shows them
        pydoc.pager(text)


def stderr_console() -> Console:
    """Stderr, for progress."""
    return _plain(stderr=True)


def _plain(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console on which strings are what they say: no markup, no emojis, no escapes."""
    console = Console(stderr=stderr, width=width, markup=False, emoji=False)
    console.push_render_hook(_ShowAll())
    return console
