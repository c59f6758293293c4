"""Files that are whole or absent."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpusim.core.errors import WriteError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all is written; else a file of that name stays.

    Raises:
        WriteError: it cannot be written.
    """
    try:
        temporary = temporary_name(path)
        try:
            with temporary.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable: a file that was renamed keeps its new name if power fails.

    Raises:
        OSError: the folder cannot be written any more.
    """
    if os.name != "posix":  # Windows opens no folders
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # file systems without that
            raise
    finally:
        os.close(place)


PARTIAL = ".*.partial"
"""Pattern of the names that `temporary_name` makes."""


def temporary_name(path: Path) -> Path:
    """A free name beside `path`, if `path` can become a file.

    Raises:
        WriteError: it cannot.
    """
    if path.exists() and not path.is_file():
        raise WriteError(f"cannot write {path}: it is not a file")
    if not path.parent.is_dir():
        raise WriteError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not os.access(path, os.W_OK):
        raise WriteError(f"cannot write {path}: it is write-protected")
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
