"""Where the `gpusim` script begins: Ctrl-C has its message before the commands are imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_STDERR = 2

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Products of matrices are rare; the threads for them, made while numpy is imported, take as long
as a fifth of that."""

_GARBAGE_OBJECTS = 1_000_000
"""Objects allocated, and not freed, between two collections of reference cycles: what is imported,
and what a machine is built of, stays, and every look at it costs."""


def main() -> None:
    """Entry point of the `gpusim` script."""
    signal.signal(signal.SIGINT, _end)
    gc.set_threshold(_GARBAGE_OBJECTS)
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    from gpusim.cli.main import main as run_command

    gc.freeze()
    try:
        run_command()
    finally:
        if "triton" not in sys.modules:  # which tells of each object that is left
            gc.freeze()  # at its end Python would look through all, whose memory goes anyhow


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """Nothing has begun, so nothing is to be cleared away."""
    try:
        os.write(_STDERR, b"gpusim: interrupted; nothing was written\n")
    finally:
        os._exit(128 + number)
