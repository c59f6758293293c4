"""Folders are marked one process at a time, in a list that is whole at any time."""

from __future__ import annotations

import json
import os
from pathlib import Path

from gpusim.core.errors import UserError, WriteError
from gpusim.core.untrusted import is_folder
from gpusim.core.user_code import list_of_trusted, trusted_folders
from gpusim.files.locks import locked
from gpusim.files.whole_files import whole_file


def mark_trusted(folder: Path, trusted: bool = True) -> None:
    """Let the files in a folder, and in those inside it, name code; or no longer.

    Raises:
        UserError: there is no such folder, none that was marked is to be trusted no longer, or the
            list cannot be read or written.
    """
    folder = Path(os.path.realpath(folder))
    if trusted and not is_folder(folder):
        raise UserError(f"there is no folder {folder}")
    path = list_of_trusted()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error
    with locked(path):
        others = [one for one in trusted_folders() if one != folder]
        if not trusted and len(others) == len(trusted_folders()):
            raise UserError(f"{folder} is not marked: gpusim trust lists the folders that are")
        names = sorted(map(str, [*others, folder] if trusted else others))
        with whole_file(path) as stream:
            stream.write((json.dumps(names, indent=1) + "\n").encode())
