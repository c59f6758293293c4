"""`gpusim report`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.opening import opened
from gpusim.core.errors import UserError
from gpusim.core.shown import shown


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result of a run.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page; FILE.html beside it if not given.")
    ] = None,
) -> None:
    """Write a run as one HTML page: what translation cost, where the cycles went, and when."""
    from gpusim.views.report import write_report

    path = output or file.with_suffix(".html")
    if path.resolve() == file.resolve():
        raise UserError(f"the report would replace the result {file}: give another name with -o")
    with opened(file) as (result,):
        write_report(result, path)
    print(shown(f"written to {path}"))
