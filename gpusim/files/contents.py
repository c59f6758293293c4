"""A cache of what is made of files, valid while the files stay unchanged, whatever their names.

A file counts as unchanged if device, inode, size and both times are the same: to read it again,
to compare, would be as dear as what is kept.  One that was changed a moment ago could change once
more without another time, so nothing is kept of it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, wraps
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")

_SETTLED_NS = 2_000_000_000
"""Largest step of file systems' times: two seconds (FAT)."""

_BLOCK = 1 << 20


class Stamp(NamedTuple):
    """The identity of a version of a file.

    Attributes:
        device, inode: where it is.
        size: bytes.
        modified_ns, changed_ns: when its content, and anything of it, was changed last.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None: it was changed so recently that the stamp may stay the same.

    Raises:
        OSError: it is not there, or cannot be asked.
    """
    found = path.stat()
    stamp = Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    last = max(stamp.modified_ns, stamp.changed_ns)
    return stamp if time.time_ns() - last >= _SETTLED_NS else None


def stamps_of(paths: Iterable[Path]) -> tuple[tuple[str, Stamp], ...] | None:
    """Stamps of files, and files of folders, by name; None: they may change, or cannot be read."""
    found = []
    try:
        for path in paths:
            for name, file in _files(path):
                stamp = stamp_of(file)
                if stamp is None:
                    return None
                found.append((name, stamp))
    except OSError:
        return None
    return tuple(found)


def while_unchanged(most: int) -> Callable[[Callable[[Path], T]], Callable[[Path], T]]:
    """Decorator of a reader of a file: what it returned is kept until the file changes.

    Args:
        most: results that are kept.
    """

    def decorate(read: Callable[[Path], T]) -> Callable[[Path], T]:
        @lru_cache(maxsize=most)
        def kept(path: Path, stamp: Stamp) -> T:  # noqa: ARG001  (part of the key)
            return read(path)

        @wraps(read)
        def look(path: Path) -> T:
            try:
                stamp = stamp_of(path)
            except OSError:  # which the reader tells of
                stamp = None
            return read(path) if stamp is None else kept(path, stamp)

        return look

    return decorate


@while_unchanged(1024)
def hash_file(path: Path) -> str:
    """SHA-256 (hex) of a file.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def content_of(path: Path) -> list[tuple[str, str]]:
    """Ending and hash of a file, or names and hashes of all files in a folder.

    Raises:
        OSError: one of them cannot be read.
    """
    return [(name, hash_file(file)) for name, file in _files(path)]


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """A file by its endings, which tell its format; those in a folder by their places in it."""
    if not path.is_dir():
        yield "".join(path.suffixes), path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file():
            yield file.relative_to(path).as_posix(), file
