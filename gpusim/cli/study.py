"""`gpusim study`: the longer studies that come along, each with options of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from gpusim.cli.options import begins


def _names() -> Iterable[str]:
    from gpusim.studies.scripts import studies

    return (study.name for study in studies())


STOPS_AT_THE_NAME = {"allow_interspersed_args": False, "ignore_unknown_options": True}
"""What stands behind the name is the study's, ``--help`` too."""


def study(
    name: Annotated[
        str, typer.Argument(help="See gpusim list studies.", autocompletion=begins(_names))
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of the study: gpusim study NAME --help.")
    ] = None,
) -> None:
    """Run a study that comes with gpusim; its output goes to gpusim-studies/NAME by default."""
    from gpusim.studies.scripts import find_study, run_study

    status = run_study(find_study(name), arguments or ())
    if status:
        raise typer.Exit(status)
