"""What travels between the GPUs of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.request import MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair

_INTERCONNECT: Final = int(State.INTERCONNECT)


@frozen(eq=False, repr=False)
class Way:
    """The way from one GPU to another one.

    Attributes:
        source, target: the GPUs.
        route: the links that packets take, in their order.
    """

    source: int
    target: int
    route: Sequence[int]


class Packet:
    """A request on its way to the GPU in whose memory its address lies, and then its answer.

    Attributes:
        request: it.
        source, target: the GPUs that it goes from and to.
        route: the links that it takes.
        size: bytes, with all that a packet has beside data.
        hop: how many of the links it has come out of.
        answer: whether it is one.
        sent_at: when the request left the crossbar of its GPU.
    """

    __slots__ = ("answer", "hop", "request", "route", "sent_at", "size", "source", "target")

    def __init__(
        self,
        request: MemoryRequest,
        way: Way,
        size: int,
        sent_at: int,
        *,
        answer: bool,
    ) -> None:
        self.request = request
        self.source = way.source
        self.target = way.target
        self.route = way.route
        self.size = size
        self.sent_at = sent_at
        self.answer = answer
        self.hop = 0

    def turn(self, way: Way, size: int) -> None:
        """Become the answer, of some bytes, which goes back a way."""
        self.source = way.source
        self.target = way.target
        self.route = way.route
        self.size = size
        self.answer = True
        self.hop = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class RemoteAccess(MemoryRequest):
    """A request of another GPU, as this GPU's memory system sees it: with a trail of its own.

    Attributes:
        packet: that has brought the request, which waits for it.
    """

    __slots__ = ("packet",)

    def __init__(self, packet: Packet, link: int, now: int) -> None:
        """An access for the request of a packet that has come.

        Args:
            packet: the packet.
            link: number of the link of the crossbar on which it is answered, counted as SMs are.
            now: the cycle.
        """
        original = packet.request
        super().__init__(
            original.kind,
            original.app,
            original.asid,
            link,
            original.tag,
            original.address,
            original.vline,
            original.sectors,
            original.depth,
            None,
            pair(_INTERCONNECT, now),
        )
        self.packet = packet
