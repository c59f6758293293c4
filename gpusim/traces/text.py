"""Text files line by line, plain or compressed, and errors that name file and line."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from gpusim.core.errors import UserError
from gpusim.core.untrusted import MOST_LINE_BYTES, file_bytes, format_memory, untrusted
from gpusim.traces.xz import MEMORY_BYTES, XzStream

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Line = tuple[int, str]
"""Its number in the file, from 1, and its text without the end of line."""

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
        return cast(IO[bytes], io.BufferedReader(XzStream(path), 1 << 16))
    if path.suffix == ".zst":
        return _unpacked_zstd(path)
    return path.open("rb")


def _unpacked_zstd(path: Path) -> IO[bytes]:
    """The bytes of a file of zstd; its window takes no more memory than that of a file of xz."""
    from zstandard import ZstdDecompressor

    unpack = ZstdDecompressor(max_window_size=MEMORY_BYTES)
    stream = unpack.stream_reader(path.open("rb"), read_across_frames=True, closefd=True)
    return cast(IO[bytes], io.BufferedReader(_RaisesOSError(stream), 1 << 16))


class _RaisesOSError(io.RawIOBase):
    """Bytes of a stream of zstd, whose damages are errors as of any other file."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int:
        from zstandard import ZstdError

        view = memoryview(into).cast("B")
        try:
            data = self._stream.read(len(view))
        except ZstdError as error:
            raise OSError(str(error)) from error
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def read_lines(path: Path) -> Iterator[Line]:
    """All lines; the file is closed when the iterator is.

    Raises:
        UserError: the file cannot be read, is damaged, or has a line without an end.
    """
    number = 0
    with untrusted(path):
        try:
            with io.TextIOWrapper(open_binary(path), "utf-8-sig", "replace") as stream:
                while text := stream.readline(MOST_LINE_BYTES):
                    number += 1
                    check_line(path, number, text)
                    yield number, text.rstrip("\r\n")
        except DAMAGES as error:
            raise UserError(damage(path, number, error)) from error


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
