"""The words of a PTX module."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from gpusim.core.errors import UserError
from gpusim.ptx.syntax import Immediate

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\f]+|//[^\n]*)
  | (?P<comment>/\*.*?\*/)
  | (?P<newline>\n)
  | (?P<string>"[^"\n]*")
  | (?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b
      |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
  | (?P<name>[A-Za-z_$%][\w$]*)
  | (?P<dot>\.[\w:]+)
  | (?P<mark>[@!{}()\[\];,:|+\-<>=*])
    """,
    re.VERBOSE | re.DOTALL,
)

END = "end"


class Token(NamedTuple):
    """A word.

    Attributes:
        kind: ``"name"``, ``"dot"``, ``"number"``, ``"string"``, ``"mark"`` or `END`.
        text: as it stands.
        line: from 1 on.
    """

    kind: str
    text: str
    line: int


def tokens_of(text: str, path: str) -> list[Token]:
    """All words, and an `END`.

    Raises:
        UserError: a character can begin no word.
    """
    found: list[Token] = []
    line, place = 1, 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise UserError(f"{path}:{line}: {text[place : place + 20]!r} is no PTX")
        kind = str(match.lastgroup)
        if kind not in {"space", "comment", "newline"}:
            found.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
        place = match.end()
    found.append(Token(END, "end of the file", line))
    return found


def number_of(text: str) -> Immediate:
    """A number as it is written."""
    if text[:2] in {"0f", "0F"}:
        (value,) = struct.unpack(">f", bytes.fromhex(text[2:]))
        return Immediate(value, 32)
    if text[:2] in {"0d", "0D"}:
        (value,) = struct.unpack(">d", bytes.fromhex(text[2:]))
        return Immediate(value, 64)
    whole = text.rstrip("U")
    if whole[:2] in {"0x", "0X", "0b", "0B"}:
        return Immediate(int(whole, 0))
    if whole.isdigit():
        octal = len(whole) > 1 and whole[0] == "0"
        return Immediate(int(whole, 8 if octal else 10))
    return Immediate(float(text), 64)
