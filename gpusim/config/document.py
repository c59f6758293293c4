"""TOML files with what a TOML parser throws away: the line and the comment of every key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.core.errors import UserError

Key = tuple[str, ...]
"""A dotted key, cut at its dots."""


@frozen
class Note:
    """What stands beside a key: its line, counted from 1, and its comment."""

    line: int
    comment: str


@frozen
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
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not a TOML file: {error}") from error
    return Document(path, data, dict(_notes(text)))


def _notes(text: str) -> Iterator[tuple[Key, Note]]:
    table: Key = ()
    for line, statement in _statements(text):
        comment = _comment(statement)
        parsed = tomllib.loads(statement)
        key = _first_key(parsed)
        if statement.lstrip().startswith("["):
            table = key
            yield table, Note(line, comment)
        else:
            for end in range(1, len(key) + 1):
                yield table + key[:end], Note(line, comment)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Every header and key of a valid TOML text, with its first line; a value may span lines."""
    pending, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not pending:
            start = number
            if re.fullmatch(r"\s*(#.*)?", line):
                continue
        pending += line + "\n"
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        yield start, pending
        pending = ""


def _first_key(parsed: Mapping[str, Any]) -> Key:
    """The key of a statement that was parsed alone: down while there is but one."""
    key: Key = ()
    inner: Any = parsed
    while isinstance(inner, dict) and len(inner) == 1:
        (name, inner), *_ = inner.items()
        key += (name,)
    return key


def _comment(statement: str) -> str:
    """The comment after the statement: what follows the first ``#`` that is outside strings."""
    for match in re.finditer("#", statement):
        head = statement[: match.start()]
        try:
            tomllib.loads(head)
        except tomllib.TOMLDecodeError:
            continue
        return statement[match.end() :].strip()
    return ""
