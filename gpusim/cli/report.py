"""`gpusim report`: a run as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.opening import opened, page_beside
from gpusim.core.terminal_text import shown


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result of a run.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="HTML page to write (default: FILE.html beside FILE.h5)."
        ),
    ] = None,
) -> None:
    """Write a run as one HTML page: the answer, where the cycles went, and when."""
    from gpusim.views.report import write_report
    from gpusim.views.report.picture import missing_records

    path = page_beside(output, ".html", file)
    with opened(file) as (result,):
        write_report(result, path)
        missing = missing_records(result)
    print(shown(f"written to {path}"))
    if missing:
        names = ",".join(missing)
        print(f"gpusim: it would show more with --record {names}", file=sys.stderr)
