"""Ctrl-C held back until nothing is half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C take effect at the end of the block, not inside it.

    HDF5 calls Python to write; an exception that a signal raises there, it can neither handle nor
    hand on.  Blocks are short: what is written at once, not what is computed.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[-1])


def interrupted_by(error: BaseException) -> str | None:
    """The message of the Ctrl-C from which an error came; None if it came from none.

    One that comes while a package is imported can end as an error of the package: what is half
    imported fails when it is used, and modules in C make errors of their own of any other.
    """
    texts = [str(one) for one in _chain(error) if isinstance(one, KeyboardInterrupt)]
    return max(texts, key=bool) if texts else None


def _chain(error: BaseException) -> list[BaseException]:
    """An error and all that it came from, the latest one first."""
    found = [error]
    for one in found:
        found += [
            earlier
            for earlier in (one.__cause__, one.__context__)
            if earlier is not None and earlier not in found
        ]
    return found
