"""Calls of a program's host that map and unmap pieces of arrays of which only addresses exist."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

from attrs import evolve, frozen

from gpusim.core.copies import Copy
from gpusim.core.streams import IN_TURN, StreamUse, made_use
from gpusim.core.warp_program import LaneChunk


@frozen(eq=False, repr=False)
class MappingCall:
    """Some pieces of a reserved array are mapped or unmapped, one after the other.

    It is yielded like a launch, and is one (`gpusim.core.warp_program.Launch`) without blocks: it
    waits for those that its stream waits for, and those after it wait for it.

    Attributes:
        name: for the table of launches, such as ``"map k_cache"``.
        maps: whether they are mapped; else they are unmapped.
        pieces: virtual address of the first byte of each.
        piece_bytes: of each.
        stream_use: its stream, and what it waits for.
        copy: nothing is copied.
    """

    name: str
    maps: bool
    pieces: tuple[int, ...]
    piece_bytes: int
    stream_use: StreamUse = IN_TURN
    copy: Copy | None = None
    blocks: int = 0
    threads_per_block: int = 1
    registers_per_thread: int = 1
    shared_bytes: int = 0

    def on(
        self, stream: int = 0, *, after: Sequence[object] = (), host_waits: bool = False
    ) -> MappingCall:
        """The same call beside launches of other streams, as of a thread of its own on the host.

        Args:
            stream: it waits for launches of this one that were made before.
            after: launches of other streams that have to end before.
            host_waits: the program goes on when this call and all launches before it have ended.

        Raises:
            UserError: the stream is no number from 0 on, or a launch in `after` has no stream.
        """
        return evolve(self, stream_use=made_use(self.name, stream, None, after, host_waits))

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        """There is no block."""
        yield from ()


class CallDriver(Protocol):
    """What performs calls of applications, by their indices."""

    def perform(self, app: int, call: MappingCall) -> Generator[int, None, None]:
        """A process that ends with the call."""

    def at_once(self, app: int, call: MappingCall) -> None:
        """Perform a call in no time."""
