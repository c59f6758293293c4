"""Files that one process at a time reads and writes again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpusim.core.errors import WriteError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Inside, no other process is inside with the same file; others wait.

    The lock is that of an empty file beside it, which stays; it ends with the process.

    Args:
        path: of the file, which need not exist; its folder does.

    Raises:
        WriteError: its folder cannot be written, or has no locks.
    """
    with _lock_file(path.with_name(f".{path.name}.lock")):
        yield


def _lock_file(lock: Path) -> BinaryIO:
    try:
        stream = lock.open("ab")
        _wait_for(stream.fileno())
    except OSError as error:
        raise WriteError(f"cannot write {lock}: {error.strerror}") from error
    return stream


if sys.platform == "win32":

    def _wait_for(file: int) -> None:
        """Lock a file until it is closed; Windows gives up after ten seconds, with an `OSError`."""
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_LOCK, 1)

else:

    def _wait_for(file: int) -> None:
        """Lock a file until it is closed."""
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
