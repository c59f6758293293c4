"""Streams of a program's launches: ``yield k[threads](...).on(1)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpusim.core.errors import UserError
from gpusim.core.streams import IN_TURN, StreamUse


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
