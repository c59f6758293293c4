"""Text files line by line, plain or compressed, and errors that name file and line."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from gpusim.core.errors import UserError
from gpusim.core.untrusted import MOST_LINE_BYTES, file_bytes, format_memory, untrusted
from gpusim.files.xz_stream import XzStream
from gpusim.files.zstd_stream import ZstdStream

Line = tuple[int, str]
"""Its number in the file, from 1, and its text without the end of line."""

Lines = tuple[int, list[str]]
"""The number of the first of some lines in a row, and the text of each."""

_PIECE = 1 << 16
"""Bytes that are made lines at once."""

PACKED = frozenset({".gz", ".xz", ".zst"})
"""Endings of compressed files."""

DAMAGES = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading a file may raise that is damaged or cannot be read."""


def open_binary(path: Path) -> IO[bytes]:
    """The bytes of a file, decompressed if its name ends in .gz, .xz or .zst.

    Raises:
        UserError: there is no such file, or it may never end.
    """
    file_bytes(path)
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return cast(IO[bytes], io.BufferedReader(XzStream(path.open("rb")), 1 << 16))
    if path.suffix == ".zst":
        stream = ZstdStream(path.open("rb"))
        return cast(IO[bytes], io.BufferedReader(stream, 1 << 16))
    return path.open("rb")


def read_lines(path: Path) -> Iterator[Line]:
    """All lines; the file is closed when the iterator is.

    Raises:
        UserError: the file cannot be read, is damaged, or has a line without an end.
    """
    for first, lines in read_pieces(path):
        yield from enumerate(lines, first)


def read_pieces(path: Path) -> Iterator[Lines]:
    """All lines, those of some KiB of the file at once; otherwise as `read_lines`."""
    number = 0
    with untrusted(path):
        try:
            with open_binary(path) as stream:
                for lines in _lines_of(stream):
                    check_line(path, number + 1, lines[0])
                    yield number + 1, lines
                    number += len(lines)
        except DAMAGES as error:
            raise UserError(damage(path, number, error)) from error


def _lines_of(stream: IO[bytes]) -> Iterator[list[str]]:
    """The lines of a file, some at a time; one that is longer than is allowed may come in parts."""
    utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
    decoder = io.IncrementalNewlineDecoder(utf8, translate=True)
    reader = cast(io.BufferedReader, stream)
    begun, more = "", True
    while more:
        data = reader.read1(_PIECE)
        more = bool(data)
        lines = (begun + decoder.decode(data, final=not more)).split("\n")
        begun = lines.pop()
        if len(begun) >= MOST_LINE_BYTES or (begun and not more):
            lines.append(begun)
            begun = ""
        if lines:
            yield lines


def check_line(path: Path, number: int, text: str | bytes) -> None:
    """Refuse a line that has no end within `MOST_LINE_BYTES`.

    Raises:
        UserError: it has none; names file and line.
    """
    if len(text) >= MOST_LINE_BYTES:
        raise UserError(
            f"{path}:{number}: the line has no end within {format_memory(MOST_LINE_BYTES)}"
        )


def damage(path: Path, last: int, error: Exception, unit: str = "line") -> str:
    """The message for a file that could be read up to a line, or another unit."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{path}: cannot be read{f' after {unit} {last}' if last else ''}: {reason}"


def plain_name(path: Path) -> str:
    """A file's name without .gz, .xz or .zst."""
    return path.stem if path.suffix in PACKED else path.name


def plain_stem(path: Path) -> str:
    """A file's name without .gz, .xz or .zst and without its ending."""
    return Path(plain_name(path)).stem
