"""Where the `gpusim` script begins: Ctrl-C has its message before the commands are imported."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

_STDERR = 2


def main() -> None:
    """Entry point of the `gpusim` script."""
    signal.signal(signal.SIGINT, _end)
    from gpusim.cli.main import main as run_command

    run_command()


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """Nothing has begun, so nothing is to be cleared away."""
    try:
        os.write(_STDERR, b"gpusim: interrupted; nothing was written\n")
    finally:
        os._exit(128 + number)
