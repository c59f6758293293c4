"""Streams: which launches of an application wait for each other.

They are CUDA's (CUDA C++ Programming Guide, "Asynchronous Concurrent Execution"): launches of one
stream run one after the other, those of different streams may overlap, and those of the legacy
default stream, number 0, wait for all that were launched before and are waited for by all others.

On a node a launch may be of one GPU.  Each GPU has streams of its own, stream 0 included, as CUDA's
devices have; a launch that names no GPU runs on all, and is of its stream on each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import frozen

from gpusim.core.errors import UserError

DEFAULT_STREAM: Final = 0
"""The legacy default stream of CUDA."""


@frozen(eq=False)
class StreamUse:
    """When a launch may begin, and when its program goes on.

    Attributes:
        stream: launches of the same stream that were launched before have ended.
        after: uses of launches of other streams that have ended, as CUDA's events have it.
        host_waits: the program goes on when this launch and all before it have ended.  After a
            launch of the default stream of all GPUs it always does.
        gpu: the GPU that runs it, numbered among those of its application; None: all do.
    """

    stream: int = DEFAULT_STREAM
    after: tuple[StreamUse, ...] = ()
    host_waits: bool = False
    gpu: int | None = None

    def waits_for(self, other: StreamUse) -> bool:
        """Whether a launch of this use waits for one of the other that was launched before it."""
        if other in self.after:
            return True
        if self.gpu is not None and other.gpu is not None and self.gpu != other.gpu:
            return False
        stream = self.stream
        return stream == DEFAULT_STREAM or other.stream in (DEFAULT_STREAM, stream)

    def is_whole(self) -> bool:
        """Whether all launches wait for it, and it for all: of the default stream of all GPUs."""
        return self.stream == DEFAULT_STREAM and self.gpu is None


IN_TURN: Final = StreamUse()
"""Of launches that name no stream."""


def made_use(
    name: str, stream: Any, gpu: Any, after: Sequence[object], host_waits: bool
) -> StreamUse:
    """How a launch uses streams, checked.

    Args:
        name: of the kernel, for messages.
        stream: its number.
        gpu: the GPU that runs it; None: all.
        after: launches of other streams.
        host_waits: as in `StreamUse`.

    Raises:
        UserError: the stream or the GPU is no number from 0 on, or a launch in `after` has no
            stream.
    """
    if not isinstance(stream, int) or stream < 0:
        raise UserError(f"kernel {name!r}: {stream!r} is no stream; allowed: a number from 0 on")
    if gpu is not None and (not isinstance(gpu, int) or gpu < 0):
        raise UserError(f"kernel {name!r}: {gpu!r} is no GPU; allowed: a number from 0 on")
    uses = tuple(getattr(launch, "stream_use", IN_TURN) for launch in after)
    for launch, use in zip(after, uses, strict=True):
        if use.is_whole():
            raise UserError(
                f"kernel {name!r} is to run after {launch!r}, which is no launch of a GPU, or of a "
                "stream from 1 on: all launches wait for those of the default stream"
            )
    return StreamUse(stream, uses, host_waits, gpu)
