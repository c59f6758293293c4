"""Where packets come out of links: at a GPU, or at a switch."""

from __future__ import annotations

from collections.abc import Iterable

from mypy_extensions import i64

from gpusim.core.engine import NEVER, Sleeper
from gpusim.core.engine.loop import Wake
from gpusim.core.unboxed import Fifo, IntFifo
from gpusim.hardware.node.packet import Packet


class Lane:
    """Packets on their way over one link, which come out one after the other.

    Attributes:
        packets: the first one comes out first.
        arrivals: when each of them does.
        numbers: of each, among all that were sent to the same end.
        ready: when the first one comes out; `NEVER`: there is none.
        number: of the first one, while there is one.
    """

    __slots__ = ("arrivals", "number", "numbers", "packets", "ready")

    def __init__(self) -> None:
        self.packets: Fifo[Packet] = Fifo()
        self.arrivals = IntFifo()
        self.numbers = IntFifo()
        self.ready: i64 = NEVER
        self.number: i64 = 0


class LinkEnds:
    """The end of some links: packets of a cycle come out in the order in which they were sent.

    Each link has a lane of its own: on a busy one packets wait long, and come out long after
    others that are sent later.

    Attributes:
        ready: when the next packet comes out; `NEVER`: there is none.
    """

    __slots__ = ("_lanes", "_receiver", "_sent", "ready")

    def __init__(self) -> None:
        self.ready = NEVER
        self._lanes: list[Lane] = []
        self._receiver: Wake | None = None
        self._sent: i64 = 0

    def connect(self, receiver: Sleeper) -> None:
        """Name the process that is woken when a packet comes out."""
        self._receiver = receiver.wake

    def open_lane(self) -> int:
        """The number of a lane for one more link."""
        self._lanes.append(Lane())
        return len(self._lanes) - 1

    def inside(self, lane: int) -> Iterable[Packet]:
        """Packets of a link that have not come out."""
        return self._lanes[lane].packets

    def send(self, lane: int, packet: Packet, arrival: int) -> None:
        """Put a packet behind those of its lane, none of which comes out after it."""
        way, number = self._lanes[lane], self._sent
        self._sent = number + 1
        way.packets.append(packet)
        way.arrivals.append(arrival)
        way.numbers.append(number)
        if way.ready == NEVER:
            way.ready = arrival
            way.number = number
            if arrival < self.ready:
                self.ready = arrival
                receiver = self._receiver
                if receiver is not None and arrival < receiver.due:
                    receiver.at(arrival)

    def take(self) -> Packet:
        """Take out the next packet, which is there."""
        first, following = self._lanes[0], NEVER
        for way in self._lanes:
            ready = way.ready
            if ready < first.ready or (ready == first.ready and way.number < first.number):
                first = way
        packet = first.packets.pop(0)
        first.arrivals.pop(0)
        first.numbers.pop(0)
        if first.packets:
            first.ready = first.arrivals[0]
            first.number = first.numbers[0]
        else:
            first.ready = NEVER
        for way in self._lanes:
            if way.ready < following:
                following = way.ready
        self.ready = following
        return packet
