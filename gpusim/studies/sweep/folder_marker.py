"""The marker of a folder of runs: a small file, with the version of the folder's layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpusim.core.errors import UserError, WriteError
from gpusim.core.untrusted import small_text
from gpusim.files.whole_files import whole_file

MARK = "gpusim-runs.json"
FORMAT = "gpusim runs"
VERSION = 1


def make_folder(path: Path) -> None:
    """Make a folder of runs of nothing, or of an empty folder; one that is there stays.

    Raises:
        UserError: the folder holds something else, or cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        there = sorted(inside.name for inside in path.iterdir())
    except (FileExistsError, NotADirectoryError) as error:
        raise WriteError(f"cannot write {path}: it is, or lies in, a file") from error
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error
    if MARK in there:
        return
    foreign = [name for name in there if not name.startswith(f".{MARK}.")]  # another sweep begins
    if foreign:
        raise UserError(
            f"{path} is no folder of runs: it holds {', '.join(foreign[:3])}"
            f"{', …' if len(foreign) > 3 else ''}; name a new or empty folder"
        )
    with whole_file(path / MARK) as stream:
        stream.write(json.dumps({"format": FORMAT, "version": VERSION}).encode())


def check_folder(path: Path) -> None:
    """Refuse what is no folder of runs.

    Raises:
        UserError: it is not there, is something else, is damaged, or a newer gpusim made it.
    """
    mark = path / MARK
    try:
        about: Any = json.loads(small_text(mark))
    except (FileNotFoundError, NotADirectoryError) as error:
        what = f"it has no {MARK}" if path.exists() else "it does not exist"
        raise UserError(f"{path} is no folder of runs: {what}") from error
    except OSError as error:
        raise UserError(f"cannot read {mark}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{mark} is damaged: {error}") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise UserError(f"{mark} is damaged: it does not tell that this is a folder of runs")
    if about.get("version") != VERSION:
        raise UserError(
            f"{path} was made by another gpusim: it has version {about.get('version')}, this "
            f"gpusim knows {VERSION}"
        )
