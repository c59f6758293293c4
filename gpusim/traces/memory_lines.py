"""Memory traces of one thread as text, a line an access: Ramulator, DRAMsim3, lackey, Pin, din."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.traces.text import Line
from gpusim.traces.thread_records import ThreadRecords

LINE_BYTES = 64
"""Bytes of a request where a format tells none: what these simulators' requests have."""

WORD_BYTES = 4
"""Bytes of an access of din and Pin's tool, which tell none: a word, as Dinero IV's default."""

_COMMENTS = ("#", "//", ";", "==", "--")

_NUMBER = r"(?:0[xX])?[0-9a-fA-F]+"


@frozen
class LineFormat:
    """A format whose lines are read one by one.

    Attributes:
        name: as people call it.
        pattern: of its lines.
        read: takes the parts of a line.
        time: what becomes of the time between accesses, for people.
        allowed: how a line must look, for messages.
    """

    name: str
    pattern: re.Pattern[str]
    read: Callable[[ThreadRecords, Sequence[str]], None]
    time: str
    allowed: str


def _hex(text: str) -> int:
    return int(text, 16)


def _ramulator(into: ThreadRecords, parts: Sequence[str]) -> None:
    into.access(int(parts[0], 0), LINE_BYTES, parts[1].upper().startswith("W"))


def _ramulator2(into: ThreadRecords, parts: Sequence[str]) -> None:
    into.access(int(parts[1], 0), LINE_BYTES, parts[0].upper() in {"ST", "W"})


def _bubbles(into: ThreadRecords, parts: Sequence[str]) -> None:
    into.instructions(int(parts[0]))
    into.access(int(parts[1], 0), LINE_BYTES, store=False)
    if parts[2]:
        into.access(int(parts[2], 0), LINE_BYTES, store=True)


def _dramsim3(into: ThreadRecords, parts: Sequence[str]) -> None:
    into.access(_hex(parts[0]), LINE_BYTES, parts[1].upper() in {"WRITE", "P_MEM_WR"})


def _lackey(into: ThreadRecords, parts: Sequence[str]) -> None:
    kind, address, size = parts[0], _hex(parts[1]), int(parts[2])
    if kind == "I":
        into.instructions()
        return
    if kind in "LM":
        into.access(address, size, store=False)
    if kind in "SM":
        into.access(address, size, store=True)


def _pin(into: ThreadRecords, parts: Sequence[str]) -> None:
    size = int(parts[2]) if parts[2] else WORD_BYTES
    into.access(_hex(parts[1]), size, parts[0].upper() == "W")


def _din(into: ThreadRecords, parts: Sequence[str]) -> None:
    label, address = parts[0], _hex(parts[1])
    if label == "2":
        into.instructions()
    elif label in {"0", "1"}:
        into.access(address, WORD_BYTES, label == "1")
    else:
        raise ValueError(f"label {label}; allowed: 0 (read), 1 (write), 2 (instruction)")


_NO_TIMES = "it states no times"
_COUNTED = "instructions between accesses take their issue slots"

LACKEY = LineFormat(
    "valgrind lackey",
    re.compile(rf"\s*([ILSM])\s+({_NUMBER}),(\d+)\s*"),
    _lackey,
    _COUNTED,
    "'I ADDRESS,BYTES', or L, S or M",
)
RAMULATOR = LineFormat(
    "Ramulator DRAM trace",
    re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s+([RrWw]|READ|WRITE)\s*"),
    _ramulator,
    _NO_TIMES,
    "'ADDRESS R' or 'ADDRESS W'",
)
RAMULATOR2 = LineFormat(
    "Ramulator 2 load-store trace",
    re.compile(r"\s*(LD|ST|R|W)\s+(0[xX][0-9a-fA-F]+|\d+)\s*", re.IGNORECASE),
    _ramulator2,
    _NO_TIMES,
    "'LD ADDRESS' or 'ST ADDRESS'",
)
DRAMSIM3 = LineFormat(
    "DRAMsim3 trace",
    re.compile(
        rf"\s*({_NUMBER})\s+(READ|WRITE|P_MEM_RD|P_MEM_WR|P_FETCH)\s+(\d+)\s*", re.IGNORECASE
    ),
    _dramsim3,
    "its cycles are not kept",
    "'ADDRESS READ CYCLE' or 'ADDRESS WRITE CYCLE'",
)
PINATRACE = LineFormat(
    "Pin pinatrace",
    re.compile(rf"\s*{_NUMBER}:\s+([RrWw])\s+({_NUMBER})(?:\s+(\d+)(?:\s.*)?)?\s*"),
    _pin,
    _NO_TIMES,
    "'PC: R ADDRESS', or W",
)
DIN = LineFormat(
    "dinero din",
    re.compile(rf"\s*([0-4])\s+({_NUMBER})(?:\s.*)?"),
    _din,
    _COUNTED,
    "'LABEL ADDRESS', the address in hex",
)
BUBBLES = LineFormat(
    "Ramulator CPU trace",
    re.compile(r"\s*(\d+)\s+(0[xX][0-9a-fA-F]+|\d+)(?:\s+(0[xX][0-9a-fA-F]+|\d+))?\s*"),
    _bubbles,
    _COUNTED,
    "'INSTRUCTIONS READ-ADDRESS [WRITE-ADDRESS]'",
)

FORMATS = (LACKEY, PINATRACE, DRAMSIM3, RAMULATOR, RAMULATOR2, DIN, BUBBLES)
"""In the order in which a first line is compared with them."""


def says_something(text: str) -> bool:
    """Whether a line is neither empty nor a comment."""
    return bool(text.strip()) and not text.lstrip().startswith(_COMMENTS)


def format_of(name: str, lines: Iterable[str]) -> LineFormat | None:
    """The format of a text by its first lines; None: none of these.

    A line ``0 7fff0000`` may be of din, whose labels are 0, 1 and 2 and whose addresses are hex, or
    tell of 0 instructions before a read: where all lines fit both, the file's ending `name` or its
    addresses decide.
    """
    filled = [line for line in lines if says_something(line)]
    if not filled:
        return None
    found = next((one for one in FORMATS if one.pattern.fullmatch(filled[0])), None)
    if found is not DIN or name.endswith(".din"):
        return found
    parts = [line.split() for line in filled]
    plain = all(len(one) in (2, 3) and one[1].isdecimal() for one in parts)
    labels = all(one[0] in {"0", "1", "2"} for one in parts)
    return DIN if labels and not plain else BUBBLES if BUBBLES.pattern.fullmatch(filled[0]) else DIN


def read_lines_of(path: object, form: LineFormat, lines: Iterable[Line]) -> ThreadRecords:
    """All accesses of a text.

    Args:
        path: of the file, for messages.
        form: its format.
        lines: its numbered lines.

    Raises:
        UserError: a line is wrong; names file and line.
    """
    records = ThreadRecords()
    matched, read = form.pattern.fullmatch, form.read
    for number, text in lines:
        found = matched(text)
        if not found:
            if says_something(text):
                raise UserError(
                    f"{path}:{number}: {text[:80]!r}: must be {form.allowed} ({form.name})"
                )
            continue
        try:
            read(records, found.groups())
        except ValueError as error:
            raise UserError(f"{path}:{number}: {text[:80]!r}: {error}") from error
    return records
