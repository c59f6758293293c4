"""Progress of a long command: a live view on a terminal, else a line every few seconds."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpusim.cli.how_far import Pace, clock_text
from gpusim.core.version import form

if TYPE_CHECKING:
    from gpusim.runs.monitor import Progress, Report


LINE_SECONDS = 5.0
"""Seconds between two lines where stderr is no terminal."""


@contextmanager
def live_progress(title: str, expected: int | None = None) -> Iterator[Report]:
    """A callback for `gpusim.simulate`: a live view on a terminal, else a line now and then.

    Args:
        title: of the run.
        expected: about how many transactions it has in all; None: that is not known.
    """
    hint = CompilerHint()
    if not sys.stderr.isatty():
        yield hint.also(ProgressLines(title, expected))
        return
    from rich.live import Live

    from gpusim.cli.console import stderr_console
    from gpusim.cli.live import LiveView

    console = stderr_console()
    view = LiveView(title, console.width, expected)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield hint.also(lambda progress: live.update(view.show(progress), refresh=True))


class ProgressLines:
    """Prints a line on stderr every `LINE_SECONDS`; a run that ends before prints none.

    Args:
        title: of the run.
        expected: about how many transactions it has in all; None: that is not known.
        clock: seconds of real time.
    """

    def __init__(
        self, title: str, expected: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title = title
        self._clock = clock
        self._pace = Pace(expected, clock)
        self._due = clock() + LINE_SECONDS

    def __call__(self, progress: Progress) -> None:
        far = self._pace.see(progress)
        now = self._clock()
        if now < self._due or progress.done:
            return
        self._due = now + LINE_SECONDS
        title = " · ".join(filter(None, (self._title, progress.run)))
        rate = f"{self._pace.transactions_a_second:,.0f} transactions/s"
        print(
            f"{title}: {far.text}, {progress.cycle:,} cycles, {rate}, "
            f"{clock_text(self._pace.elapsed)}, {far.left}",
            file=sys.stderr,
            flush=True,
        )


class CompilerHint:
    """Says once that a long run goes on pure Python although a C compiler is there.

    Args:
        clock: seconds of real time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock() + HINT_SECONDS

    def also(self, report: Report) -> Report:
        """A report that calls another one."""

        def seen(progress: Progress) -> None:
            report(progress)
            if self._clock() >= self._due:
                self._due = float("inf")
                if hint := pure_python_hint():
                    print(hint, file=sys.stderr, flush=True)

        return seen


HINT_SECONDS = 20.0
"""Seconds after which a run is a long one."""

_COMPILERS = ("cc", "gcc", "clang", "cl")


def pure_python_hint() -> str:
    """How to get the compiled form; empty: this is it, or there is no compiler."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if form() == "compiled" or compiler is None:
        return ""
    return (
        "gpusim: this is pure Python, several times slower than the compiled form with the same "
        f"results; {compiler} is here: pip install . compiles (an editable install, -e, does not)"
    )


@contextmanager
def block_progress(
    title: str = "", unit: str = "blocks"
) -> Iterator[Callable[[str, int], None] | None]:
    """A callback that shows an application and its units; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from gpusim.cli.console import stderr_console

    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn(f"{{task.completed:,}} {unit}", justify="right"),
        TimeElapsedColumn(),
        console=stderr_console(),
        transient=True,
        refresh_per_second=4,
    ) as bar:
        task = bar.add_task(title, total=None)
        yield lambda name, blocks: bar.update(task, description=name, completed=blocks)
