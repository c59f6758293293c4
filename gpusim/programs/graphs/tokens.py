"""Text files of numbers, read without a Python loop, with the line of every mistake."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import afford, check_unpacked, file_bytes, untrusted
from gpusim.files.xz_stream import XzStream
from gpusim.files.zstd_stream import ZstdStream

_NEWLINE, _MINUS, _ZERO = ord("\n"), ord("-"), ord("0")
_MOST_DIGITS = 18

_LOOKED_AT = 1 << 16

_MEMORY_TIMES = 24
"""Bytes of memory that a byte of text takes at most while it is read: a word of one letter."""


def read_text(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, plain or compressed (recognized by its first bytes, not by its name).

    A byte order mark in front of them is left out.

    Raises:
        UserError: it cannot be read, is damaged, a bomb, too large, or empty.
    """
    with untrusted(f"graph file {path}"):
        size = file_bytes(path, "cannot read graph file")
        afford(size * _MEMORY_TIMES, f"graph file {path}")
        try:
            with path.open("rb") as stream:
                kind = _packing(stream.read(6))
                stream.seek(0)
                data = _unpacked(path, kind(stream)) if kind else stream.read()
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise UserError(
                f"graph file {path} is truncated or damaged: {str(error).rstrip('.')}; "
                "it must be a whole file of gzip, xz, zstd or bzip2"
            ) from error
        except OSError as error:
            raise UserError(f"cannot read graph file {path}: {error.strerror or error}") from error
        data = data.removeprefix(codecs.BOM_UTF8)
        if not data.strip():
            raise UserError(f"graph file {path} is empty; a graph is expected")
        if b"\0" in data[:_LOOKED_AT]:
            raise UserError(
                f"graph file {path} is no text: it has bytes of 0, as archives, binary graphs and "
                "UTF-16 have; a graph as text in UTF-8 is expected"
            )
        return np.frombuffer(data, dtype=np.uint8).copy()


def _packing(begin: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """What unpacks a file with these first bytes; None: it is plain."""
    return next((unpack for mark, unpack in _PACKINGS.items() if begin.startswith(mark)), None)


def _unpacked(path: Path, stream: IO[bytes]) -> bytes:
    """The whole text, unless it is a bomb."""
    pieces = []
    size = 0
    with stream:
        while piece := stream.read(1 << 20):
            pieces.append(piece)
            size += len(piece)
            check_unpacked(path, size)
            afford(size * _MEMORY_TIMES, f"graph file {path}")
    return b"".join(pieces)


def _bzip2(stream: IO[bytes]) -> IO[bytes]:
    return bz2.BZ2File(stream)


_PACKINGS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda stream: cast(IO[bytes], gzip.GzipFile(fileobj=stream)),
    b"\xfd7zXZ\0": lambda stream: cast(IO[bytes], XzStream(stream)),
    b"BZh": _bzip2,
    b"\x28\xb5\x2f\xfd": lambda stream: cast(IO[bytes], ZstdStream(stream)),
}
"""By its first bytes, what unpacks a file."""


@frozen(eq=False)
class Lines:
    """The lines of a text.

    Attributes:
        path: the file, for messages.
        text: its bytes; blanked ones read as spaces.
        start, end: (lines,) where each line begins and ends, without its newline.
    """

    path: Path
    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    @classmethod
    def of(cls, path: Path) -> Lines:
        """The lines of a file; see `read_text` for errors."""
        text = read_text(path)
        ends = np.flatnonzero(text == _NEWLINE)
        if not ends.size or ends[-1] != len(text) - 1:
            ends = np.append(ends, len(text))
        return cls(path, text, np.concatenate(([0], ends[:-1] + 1)), ends)

    def first_bytes(self) -> NDArray[np.uint8]:
        """(lines,) the first byte of each line; a newline where it is empty."""
        padded = np.append(self.text, np.uint8(_NEWLINE))
        return padded[self.start]

    def line(self, index: int) -> str:
        """One line, counted from 0."""
        return self.text[self.start[index] : self.end[index]].tobytes().decode("utf-8", "replace")

    def blank(self, lines: NDArray[np.int64]) -> None:
        """Make whole lines read as spaces."""
        edges = np.zeros(len(self.text) + 1, dtype=np.int8)
        edges[self.start[lines]] += 1
        edges[self.end[lines]] -= 1
        self.text[np.cumsum(edges[:-1], dtype=np.int8) > 0] = ord(" ")

    def separate(self, signs: Collection[int]) -> None:
        """Make these bytes read as spaces."""
        self.text[np.isin(self.text, list(signs))] = ord(" ")

    def fail(self, line: int, problem: str) -> UserError:
        """The error for a line, counted from 0."""
        return UserError(f"graph file {self.path}, line {line + 1}: {problem}")


@frozen(eq=False)
class Tokens:
    """The words of a text.

    Attributes:
        lines: the text.
        start, end: (tokens,) where each begins and ends.
        line: (tokens,) its line, counted from 0.
    """

    lines: Lines
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    line: NDArray[np.int64]

    @classmethod
    def of(cls, lines: Lines) -> Tokens:
        """All words between white space."""
        word = np.zeros(len(lines.text) + 2, dtype=np.int8)
        word[1:-1] = lines.text > ord(" ")
        step = np.diff(word)
        start = np.flatnonzero(step == 1)
        line = np.searchsorted(lines.start, start, side="right") - 1
        return cls(lines, start, np.flatnonzero(step == -1), line)

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Tokens:
        return Tokens(self.lines, self.start[which], self.end[which], self.line[which])

    def word(self, index: int) -> str:
        """One word."""
        return (
            self.lines.text[self.start[index] : self.end[index]]
            .tobytes()
            .decode("utf-8", "replace")
        )

    def fail(self, index: int, problem: str) -> UserError:
        """The error for a word."""
        return self.lines.fail(int(self.line[index]), problem)

    def counts(self) -> NDArray[np.int64]:
        """(lines,) words of each line."""
        return np.bincount(self.line, minlength=len(self.lines.start))

    def integers(self, what: str, low: int, high: int | None = None) -> NDArray[np.int64]:
        """The words as whole numbers.

        Args:
            what: what they are, for messages.
            low: the least that is allowed.
            high: the most that is allowed, if there is a limit.

        Raises:
            UserError: not whole numbers, or outside of what is allowed.
        """
        allowed = f"from {low} to {high}" if high is not None else f"of {low} or more"
        text = self.lines.text
        negative = text[self.start] == _MINUS
        first = self.start + negative
        length = self.end - first
        bad = (length < 1) | (length > _MOST_DIGITS)
        values = np.zeros(len(self), dtype=np.int64)
        for place in range(int(length[~bad].max(initial=0))):
            inside = place < length
            digit = text[np.minimum(first + place, len(text) - 1)] - np.uint8(_ZERO)
            bad |= inside & (digit > 9)
            values = np.where(inside, values * 10 + digit, values)
        values[negative] *= -1
        wrong = bad | (values < low)
        if high is not None:
            wrong |= values > high
        if wrong.any():
            index = int(np.argmax(wrong))
            raise self.fail(
                index, f"{what} is {self.word(index)!r}; must be a whole number {allowed}"
            )
        return values

    def numbers(self, what: str) -> NDArray[np.float64]:
        """The words as floating-point numbers.

        Raises:
            UserError: one of them is not a finite number.
        """
        values = np.empty(len(self))
        for index in range(len(self)):
            try:
                values[index] = float(self.word(index))
            except ValueError:
                values[index] = np.nan
        if not np.isfinite(values).all():
            index = int(np.argmin(np.isfinite(values)))
            raise self.fail(index, f"{what} is {self.word(index)!r}; must be a finite number")
        return values
