"""Streams: which launches of an application wait for each other.

They are CUDA's (CUDA C++ Programming Guide, "Asynchronous Concurrent Execution"): launches of one
stream run one after the other, those of different streams may overlap, and those of the legacy
default stream, number 0, wait for all that were launched before and are waited for by all others.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import frozen

DEFAULT_STREAM: Final = 0
"""The legacy default stream of CUDA."""


@frozen(eq=False)
class StreamUse:
    """When a launch may begin, and when its program goes on.

    Attributes:
        stream: launches of the same stream that were launched before have ended.
        after: uses of launches of other streams that have ended, as CUDA's events have it.
        host_waits: the program goes on when this launch and all before it have ended.  After a
            launch of the default stream it always does.
    """

    stream: int = DEFAULT_STREAM
    after: tuple[StreamUse, ...] = ()
    host_waits: bool = False


IN_TURN: Final = StreamUse()
"""Of launches that name no stream."""


def stream_use(launch: object) -> StreamUse:
    """How a launch uses streams; one that does not say so is of the default stream."""
    known: Any = launch
    if hasattr(known, "stream_use"):
        use: StreamUse = known.stream_use
        return use
    return IN_TURN
