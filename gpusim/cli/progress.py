"""Progress of a long command on a terminal; nothing where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.live import Live
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from gpusim.cli.console import stderr_console

if TYPE_CHECKING:
    from gpusim.runs.monitor import Report


@contextmanager
def live_progress(title: str) -> Iterator[Report | None]:
    """A callback for `gpusim.simulate` that draws a live view; None if stderr is no terminal."""
    from gpusim.cli.live import LiveView

    console = stderr_console()
    if not console.is_terminal:
        yield None
        return
    view = LiveView(title, console.width)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda progress: live.update(view.show(progress), refresh=True)


@contextmanager
def block_progress(
    title: str = "", unit: str = "blocks"
) -> Iterator[Callable[[str, int], None] | None]:
    """A callback that shows an application and its units; None where stderr is no terminal."""
    console = stderr_console()
    if not console.is_terminal:
        yield None
        return
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn(f"{{task.completed:,}} {unit}", justify="right"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        refresh_per_second=4,
    ) as bar:
        task = bar.add_task(title, total=None)
        yield lambda name, blocks: bar.update(task, description=name, completed=blocks)
