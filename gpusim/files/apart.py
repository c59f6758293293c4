"""What is written must not take the place of what is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpusim.core.errors import UserError
from gpusim.core.untrusted import is_file

File = str | os.PathLike[str]


def keep_apart(outputs: Mapping[str, File | None], inputs: Iterable[File | None]) -> None:
    """Refuse files to be written that are read, or that are one file.

    Args:
        outputs: by the options that name them; None: not given.
        inputs: files that are read; what is no file is none of them.

    Raises:
        UserError: names the option and the file.
    """
    read = {os.path.realpath(one): one for one in inputs if one is not None and is_file(Path(one))}
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in read:
            raise UserError(
                f"--{option} {os.fspath(path)}: would replace {os.fspath(read[real])}, which is "
                "read: name another file"
            )
        if real in written:
            raise UserError(f"--{option} {os.fspath(path)}: --{written[real]} names it, too")
        written[real] = option
