"""The live line of a run: cycles, warps, transactions a second, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from gpusim.simulate import Progress


@contextmanager
def live_progress(title: str) -> Iterator[Callable[[Progress], None] | None]:
    """A callback for `gpusim.simulate` that draws a bar; None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with make_bar(console) as bar:
        task = bar.add_task(title, total=None, warps="", cycle=0, rate=0.0)

        def update(progress: Progress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(
                task,
                total=progress.warps_total or None,
                completed=progress.warps_done,
                warps=f"{progress.warps_done:,}/{progress.warps_total:,}",
                cycle=progress.cycle,
                rate=progress.transactions / elapsed if elapsed else 0.0,
            )

        yield update


@contextmanager
def block_progress(title: str = "") -> Iterator[Callable[[str, int], None] | None]:
    """A callback that shows an application and its blocks; None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,} blocks", justify="right"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        refresh_per_second=4,
    ) as bar:
        task = bar.add_task(title, total=None)
        yield lambda name, blocks: bar.update(task, description=name, completed=blocks)


def make_bar(console: Console) -> Bar:
    """The bar; its tasks carry the fields ``warps``, ``cycle`` and ``rate``."""
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[warps]} warps", justify="right"),
        TextColumn("{task.fields[cycle]:,} cycles", justify="right"),
        TextColumn("{task.fields[rate]:,.0f} transactions/s", justify="right"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        refresh_per_second=4,
    )
