"""`gpusim explore`: a run, or two side by side, to be looked into in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.opening import opened, page_beside
from gpusim.cli.timeline import whole_cycles
from gpusim.core.terminal_text import shown


def explore(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result with intervals.")],
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER.h5", help="Another one, beside it.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Page (default: FILE.explore.html beside FILE.h5)."),
    ] = None,
    begin: Annotated[
        int | None,
        typer.Option("--from", parser=whole_cycles, metavar="CYCLE", help="First cycle."),
    ] = None,
    end: Annotated[
        int | None,
        typer.Option("--to", parser=whole_cycles, metavar="CYCLE", help="Cycle after the last."),
    ] = None,
) -> None:
    """Write an HTML page on which to look into a run, cycle by cycle."""
    from gpusim.views.explore import explore as explore_page

    files = (file,) if other is None else (file, other)
    path = page_beside(output, ".explore.html", *files)
    with opened(*files) as results:
        explore_page(*results, begin=begin or 0, end=end).write(path)
    print(shown(f"written to {path}: open it in a browser"))
