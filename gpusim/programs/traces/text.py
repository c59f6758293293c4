"""Text files line by line, plain or compressed, and errors that name file and line."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from gpusim.core.errors import UserError

Line = tuple[int, str]
"""Its number in the file, from 1, and its text without the end of line."""

DAMAGES = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading a file may raise that is damaged or cannot be read."""


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a file, decompressed if its name ends in .gz or .xz."""
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def read_lines(path: Path) -> Iterator[Line]:
    """All lines; the file is closed when the iterator is.

    Raises:
        UserError: the file cannot be read, or is damaged.
    """
    number = 0
    try:
        with io.TextIOWrapper(open_binary(path), "utf-8", "replace") as stream:
            for text in stream:
                number += 1
                yield number, text.rstrip("\r\n")
    except DAMAGES as error:
        raise UserError(damage(path, number, error)) from error


def damage(path: Path, last: int, error: Exception, unit: str = "line") -> str:
    """The message for a file that could be read up to a line, or another unit."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{path}: cannot be read{f' after {unit} {last}' if last else ''}: {reason}"


def plain_name(path: Path) -> str:
    """A file's name without .gz or .xz."""
    return path.stem if path.suffix in {".gz", ".xz"} else path.name


def plain_stem(path: Path) -> str:
    """A file's name without .gz or .xz and without its ending."""
    return Path(plain_name(path)).stem
