"""Files that are whole or absent."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gpusim.core.errors import WriteError

_TIMES, _WAIT_SECONDS = 20, 0.05
"""How often a name that another process uses is tried, and how long between [our choice]."""


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
            put_in_place(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a whole file its name, durably.

    Raises:
        OSError: it cannot have it.
    """
    _once_others_let_go(lambda: temporary.replace(path))
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file, if it is there.

    Raises:
        OSError: it cannot be removed.
    """
    _once_others_let_go(lambda: path.unlink(missing_ok=True))


def _once_others_let_go(change: Callable[[], object]) -> None:
    """Windows neither removes nor replaces a file while another process reads it: it waits."""
    for _ in range(_TIMES):
        with suppress(PermissionError):
            change()
            return
        time.sleep(_WAIT_SECONDS)
    change()


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
