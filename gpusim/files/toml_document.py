"""TOML files with what a TOML parser throws away: the line and the comment of every key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes, format_memory, untrusted

MOST_BYTES = 1 << 19
"""Most bytes of a TOML file (our choice): the largest that is shipped has a twentieth of it."""

MOST_NESTED = 32
"""Tables and lists inside each other (our choice)."""

MOST_INTEGER = (1 << 63) - 1
"""TOML's numbers have 64 bits."""

Key = tuple[str, ...]
"""A dotted key, cut at its dots."""


_LONG_KEY = re.compile(
    r'(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'
    r"'[^'\n]*+')[ \t]*\.[ \t]*){"
    f"{MOST_NESTED + 1},}}"
)
"""A dotted key that a parser takes time for, by the square of its dots."""


@frozen(eq=False, repr=False)
class Note:
    """What stands beside a key: its line, counted from 1, and its comment."""

    line: int
    comment: str


@frozen(eq=False, repr=False)
class Document:
    """A TOML file.

    Attributes:
        path: where it was read from.
        data: its tables.
        notes: line and comment of every key and table header that it writes out.
    """

    path: Path
    data: Mapping[str, Any]
    notes: Mapping[Key, Note]

    def note(self, key: Key) -> Note | None:
        """The note of a key; without one of its own, that of the innermost table around it."""
        for end in range(len(key), 0, -1):
            if key[:end] in self.notes:
                return self.notes[key[:end]]
        return None

    def comment(self, key: Key) -> str:
        """The comment beside a key; without one, that of the innermost table that has one."""
        for end in range(len(key), 0, -1):
            note = self.notes.get(key[:end])
            if note and note.comment:
                return note.comment
        return ""


def read_document(path: Path) -> Document:
    """Read a TOML file.

    Raises:
        UserError: the file cannot be read or is not TOML; the message tells file and line.
    """
    with untrusted(path, "is not a TOML file"):
        if file_bytes(path, "cannot read") > MOST_BYTES:
            raise UserError(f"{path} is larger than {format_memory(MOST_BYTES)}: no such file is")
        try:
            text = path.read_text(encoding="utf-8")
            if found := _LONG_KEY.search(text):
                raise UserError(f"{path}: {found[0][:20]}…: more than {MOST_NESTED} tables deep")
            data = tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {path}: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{path} is not a TOML file: {error}") from error
        _check(path, data)
        return Document(path, data, _notes_of(text))


def _check(path: Path, data: Mapping[str, Any]) -> None:
    """Refuse absurd documents: tables nested without end, and numbers of thousands of digits.

    Raises:
        UserError: names the key.
    """
    waiting: list[tuple[Key, Any]] = [((), data)]
    while waiting:
        key, value = waiting.pop()
        if len(key) > MOST_NESTED:
            raise UserError(f"{path}: {'.'.join(key[:3])}…: more than {MOST_NESTED} tables deep")
        if isinstance(value, dict):
            waiting += [((*key, name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [((*key, str(at)), inner) for at, inner in enumerate(value)]
        elif type(value) is int and abs(value) > MOST_INTEGER:
            raise UserError(f"{path}: {'.'.join(key)}: the number does not fit 64 bits")


@lru_cache(maxsize=256)
def _notes_of(text: str) -> Mapping[Key, Note]:
    """The notes of a text, once for each: they take as long as all else of loading a model."""
    return dict(_notes(text))


def _notes(text: str) -> Iterator[tuple[Key, Note]]:
    table: Key = ()
    for line, statement, comment in _statements(text):
        key = _first_key(tomllib.loads(statement))
        if statement.lstrip().startswith("["):
            table = key
            yield table, Note(line, comment)
        else:
            for end in range(1, len(key) + 1):
                yield table + key[:end], Note(line, comment)


_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]",
    re.DOTALL,
)
"""What tells where a statement ends: strings, comments, brackets, ends of lines."""


def _statements(text: str) -> Iterator[tuple[int, str, str]]:
    """Every header and key of a valid TOML text: first line, itself, and the comment after it."""
    text = text.replace("\r\n", "\n") + "\n"
    line, first, begin, inside, comment = 1, 1, 0, 0, ""
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found[0] == "#" and not inside:
            comment = found[1:].strip()
        elif found == "\n" and not inside:
            statement = text[begin : token.start()]
            if not re.fullmatch(r"\s*(#.*)?", statement):
                yield first, statement, comment
            first, begin, comment = line + 1, token.end(), ""
        else:
            inside += (found in "[{") - (found in "]}")
        line += found.count("\n")


def _first_key(parsed: Mapping[str, Any]) -> Key:
    """The key of a statement that was parsed alone: down while there is but one."""
    key: Key = ()
    inner: Any = parsed
    while isinstance(inner, dict) and len(inner) == 1:
        (name, inner), *_ = inner.items()
        key += (name,)
    return key
