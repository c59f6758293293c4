"""Printing after a result is written: a failure of printing no longer fails the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpusim.core.terminal_text import shown


@contextmanager
def kept(output: Path | None) -> Iterator[None]:
    """Inside, a run is printed whose result is in a file: that it cannot be, is a warning.

    Args:
        output: the file; None: printing is all that the run leaves, and failing to is its failure.
    """
    try:
        yield
        sys.stdout.flush()
    except Exception as error:
        if output is None:
            raise
        with suppress(OSError, ValueError):  # the process must not try again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = f"{type(error).__name__}: {error}"
        with suppress(OSError):
            print(
                shown(f"gpusim: the result is whole in {output}, but was not printed: {reason}"),
                file=sys.stderr,
            )
