"""`gpusim export`: a result in a format of other programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from gpusim.cli.options import begins


def _formats() -> Iterable[str]:
    from gpusim.results.export import FORMATS

    return FORMATS


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE.h5", help="Result.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, parquet, netcdf, json, ramulator, ramulator2 or dramsim3.",
            autocompletion=begins(_formats),
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File, or folder of tables (default: FILE-csv/, FILE.nc, … beside FILE.h5).",
        ),
    ] = None,
) -> None:
    """Write a result's tables, all of it, or its requests to DRAM in a format of other programs.

    Tables become CSV or Parquet, numbers JSON, all of it netCDF, and the requests of --record dram
    a trace of Ramulator 1, Ramulator 2 or DRAMsim3.
    """
    from gpusim.cli.console import stdout_console
    from gpusim.results.export import default_place
    from gpusim.results.export import export as write

    for path in write(file, to, output or default_place(file, to)):
        stdout_console().print(f"written to {path}", markup=False)
