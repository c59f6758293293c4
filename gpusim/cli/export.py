"""`gpusim export`: a result in a format of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result.")],
    to: Annotated[str, typer.Option(help="csv, parquet, netcdf or json.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o",
            help="File, or folder of tables (default: beside FILE.h5, FILE-csv/ or FILE.nc).",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Write a result's tables as CSV or Parquet, its numbers as JSON, or all of it as netCDF."""
    from gpusim.cli.console import stdout_console
    from gpusim.results.export import default_place
    from gpusim.results.export import export as write

    for path in write(file, to, output or default_place(file, to)):
        stdout_console().print(f"written to {path}", markup=False)
