"""`gpusim trust`: folders whose files may name code that gpusim imports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpusim.core.errors import UserError
from gpusim.core.terminal_text import shown
from gpusim.core.user_code import trusted_folders


def trust(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to mark; without one, those marked are listed.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
) -> None:
    """Allow models, recipes, workloads and sweeps in a folder to name code of their own."""
    if remove and folder is None:
        raise UserError("--remove: which folder? gpusim trust FOLDER --remove")
    if folder is not None:
        from gpusim.files.trusted_folders import mark_trusted

        mark_trusted(folder, not remove)
    for one in trusted_folders():
        print(shown(str(one)))
