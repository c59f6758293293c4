"""Ctrl-C and SIGTERM held back until nothing is half-done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_HELD_BACK = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C, and SIGTERM if it is handled, take effect at the end of the block, not inside.

    HDF5 calls Python to write; an exception that a signal raises there, it can neither handle nor
    hand on.  Blocks are short: what is written at once, not what is computed.
    """
    handlers = {number: signal.getsignal(number) for number in _HELD_BACK}
    own = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread():
        own = {}
    received: list[tuple[int, FrameType | None]] = []
    for number in own:
        signal.signal(number, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
        if received:
            own[signal.Signals(received[-1][0])](*received[-1])


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
