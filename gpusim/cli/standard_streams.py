"""Standard streams that are closed when the process starts (``gpusim run … >&-``)."""

from __future__ import annotations

import io
import os
import sys

_MODES = ("r", "w", "w")
_NAMES = ("stdin", "stdout", "stderr")


def open_standard_streams() -> None:
    """Make standard streams that are closed lead nowhere; names that are no text can be printed.

    A closed one would be `None`, which has no `flush`; and the next file to be opened, such as a
    result, would get its number and so whatever a library prints.
    """
    for number, (name, mode) in enumerate(zip(_NAMES, _MODES, strict=True)):
        if getattr(sys, name) is None:
            stream = open(_nowhere(number), mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files need not be text
        sys.stdout.reconfigure(errors="backslashreplace")
    if os.environ.get("COLUMNS") == "0":  # not known: rich would print nothing
        del os.environ["COLUMNS"]


def _nowhere(number: int) -> int:
    """The number of a stream, which now leads nowhere."""
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return number
