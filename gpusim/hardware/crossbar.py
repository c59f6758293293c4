"""The interconnect: one network from the SMs to the L2 banks, one back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.schema import CrossbarConfig
from gpusim.core.blame import Blames
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Sink, Sleeper, Waiters, Wake, Wakeable
from gpusim.core.interfaces import Inbound, Packets
from gpusim.core.interleaving import Interleaving
from gpusim.core.request import Kind, MemoryRequest, VirtualRequest
from gpusim.core.unboxed import Fifo
from gpusim.core.warp_program import SECTOR_BYTES, SECTOR_COUNTS, SECTORS
from gpusim.files.units import Hertz

_LOAD: Final = int(Kind.LOAD)
_ATOMIC: Final = int(Kind.ATOMIC)
_WALK: Final = int(Kind.WALK)
_HEADER_BYTES: Final = 8


@attr.s(auto_attribs=True, eq=False, repr=False)
class NetworkCounters:
    """What one network carried."""

    packets: int = count("packets sent")
    bytes: int = count("bytes sent; the header rides along with data", "B")
    queue_cycles: int = count("waiting at output ports, summed over packets", "cycles")


class Link(Inbound):
    """An output port of a network; its receiver takes the packets that have arrived.

    Packets come out in the order in which their last flits arrive.  A packet of *n* flits takes
    the port for *n* cycles: the next one is there no earlier than *n* cycles later.

    Attributes:
        queue: packets under way.
        ready: the first cycle in which one can be taken; `NEVER` if none is under way.
        blames: when its receiver is stalled; None: it keeps no account.
    """

    __slots__ = (
        "_arrival",
        "_counters",
        "_entrance",
        "_entrances",
        "_flits",
        "_free_at",
        "_last",
        "_receiver",
        "blames",
        "env",
        "queue",
    )

    def __init__(
        self, env: EventLoop, counters: NetworkCounters, entrances: list[Entrance]
    ) -> None:
        self.env = env
        self.queue: Fifo[MemoryRequest] = Fifo()
        self._arrival = self._last = self._entrance = self._flits = 0
        """When the first and the last packet arrive, and more of the first one, while there is one:
        it may enter the next network before it is taken out here (`MemoryRequest.arrives`)."""
        self.ready = NEVER
        self._entrances = entrances
        self._counters = counters
        self._free_at = 0
        self._receiver: Wake | None = None
        self.blames: Blames | None = None

    def connect(self, receiver: Sleeper, blames: Blames | None = None) -> None:
        self._receiver = receiver.wake
        self.blames = blames

    def put(self, arrival: int, request: MemoryRequest, entrance: int, flits: int) -> None:
        """Let a packet arrive in cycle `arrival`; `entrance` is the number of where it came in."""
        queue = self.queue
        if queue:
            request.arrives = arrival
            request.entrance = entrance
            request.flits = flits
            if self._last <= arrival:
                self._last = arrival
                queue.append(request)
                return  # the receiver knows of those before it
            if self._arrival <= arrival:
                place = len(queue) - 1
                while place > 1 and queue[place - 1].arrives > arrival:
                    place -= 1
                queue.insert(place, request)
                return
            first = queue[0]
            first.arrives, first.entrance = self._arrival, self._entrance
            first.flits = self._flits
            queue.insert(0, request)
        else:
            self._last = arrival
            queue.append(request)
        self._arrival, self._entrance, self._flits = arrival, entrance, flits
        self.ready = max(arrival, self._free_at)
        receiver = self._receiver
        if receiver is not None and arrival < receiver.due:
            receiver.at(arrival)

    def arrived(self) -> int:
        return self._arrival if self.queue else NEVER

    def head(self) -> MemoryRequest:
        """The packet that is next, left in place."""
        return self.queue[0]

    def take(self) -> MemoryRequest:
        """Take out the next packet, which is `ready`."""
        queue = self.queue
        now = self.env._now
        request = queue.pop(0)
        arrived = self._arrival
        self._counters.queue_cycles += now - arrived
        entrance = self._entrances[self._entrance]
        ready = self._free_at = now + self._flits
        if queue:
            following = queue[0]
            self._arrival, self._entrance = following.arrives, following.entrance
            self._flits = following.flits
            self.ready = max(self._arrival, ready)
        else:
            self.ready = NEVER
        entrance.inside -= 1
        if entrance.blocked.waiting:
            entrance.wake(self.blames, arrived)
        return request


class Entrance(Sink):
    """Where one source puts its packets into a network; it passes one flit a cycle.

    Args:
        network: the network.
        number: of the source.
        latencies: of a packet to each link.
        depth: packets that may be inside.

    Attributes:
        latencies: of a packet to each link.
        inside: packets of this source in the network.
        blocked: senders that wait for room.
    """

    __slots__ = (
        "_depth",
        "_free_at",
        "_network",
        "_number",
        "blocked",
        "inside",
        "latencies",
        "name",
    )

    def __init__(self, network: Network, number: int, latencies: list[int], depth: int) -> None:
        self.name = network.name
        self._network = network
        self._number = number
        self.latencies = latencies
        self._depth = depth
        self._free_at = 0
        self.inside = 0
        self.blocked = Waiters()

    @property
    def full(self) -> bool:
        """Whether the source has to wait: its packets fill the queue."""
        return self.inside >= self._depth

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when one of this source's packets leaves the network."""
        self.blocked.add(sender)

    def wake(self, blames: Blames | None, arrived: int) -> None:
        """One of this source's packets has left the network: wake those that wait for that.

        Args:
            blames: when its receiver was stalled; None: it keeps no account.
            arrived: when the packet arrived.
        """
        if blames is not None and blames.until > arrived:
            for sender in self.blocked.waiting:
                sender.because(blames, arrived)
        self.blocked.wake()

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Put in a packet, `extra_cycles` from now."""
        network = self._network
        size = network.packets.size(item)
        counters = network.counters
        counters.packets += 1
        counters.bytes += size
        self.inside += 1
        start = network.env._now + extra_cycles
        index = network.packets.link(item)
        link = network.links[index]
        if network.ideal:
            link.put(start + network.more, item, self._number, 0)
            return
        flits = -(-size // network.flit_bytes)
        if start < self._free_at:
            start = self._free_at
        self._free_at = start + flits
        link.put(start + flits - 1 + self.latencies[index], item, self._number, flits)


class OwnReturn(Sink):
    """An entrance whose packets are answered on a link of their own, which they carry along.

    Args:
        entrance: where they go in.
        link: number of the link of the other network that the answers are sent to (`ToSms`).
    """

    __slots__ = ("_entrance", "link", "name")

    def __init__(self, entrance: Entrance, link: int) -> None:
        self.name = entrance.name
        self.link = link
        self._entrance = entrance

    @property
    def full(self) -> bool:
        return self._entrance.full

    def when_free(self, sender: Wakeable) -> None:
        self._entrance.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        item.return_to(self)
        self._entrance.send(item, extra_cycles)


@frozen(eq=False, repr=False)
class NetworkSite:
    """Where a network stands in a machine.

    Attributes:
        env: the environment.
        name: for reports.
        config: what it is like.
        clock: of the core.
        path, index: of its counters, see `Component`.
    """

    env: EventLoop
    name: str
    config: CrossbarConfig
    clock: Hertz
    path: str = "crossbar"
    index: int = 0


@frozen(eq=False, repr=False)
class Ways:
    """The ways through a network.

    Attributes:
        sources: number of entrances.
        links: number of links.
        more: cycles that every packet takes longer than the latency, also in an ideal network.
        longer: by source and link, cycles that a packet takes longer than the latency (an ideal
            network has none); None: none.
        ahead: cycles that sources send ahead, which are a part of the way.
    """

    sources: int
    links: int
    more: int = 0
    longer: list[list[int]] | None = None
    ahead: int = 0

    def cycles(self, latency: int) -> list[list[int]]:
        """By source and link, cycles of a packet where the latency of the network is `latency`."""
        longer = self.longer
        return [
            [
                latency + self.more + (longer[source][link] if longer else 0)
                for link in range(self.links)
            ]
            for source in range(self.sources)
        ]


@mypyc_attr(allow_interpreted_subclasses=True)
class Network(Component):
    """One direction of the crossbar: every entrance reaches every link.

    A packet of *n* flits (`bytes_per_cycle` each) takes *n* cycles of its entrance and *n* of its
    link, and arrives with its last flit ``latency + n - 1`` cycles after it was sent if both are
    free.  A source has at most `queue` packets on their way; then it has to wait.  Where the
    network is `pipelined`, it has as many more as fill the way, so that the latency costs no
    bandwidth.  An ideal network has neither latency nor limits.

    Args:
        site: where it stands.
        ways: between its entrances and links.
        packets: where they go, and how large they are.
    """

    def __init__(
        self,
        site: NetworkSite,
        ways: Ways,
        packets: Packets,
    ) -> None:
        env = self.env = site.env
        config = site.config
        self.name = site.name
        self.path = site.path
        self.instance = site.index
        self.ideal = config.ideal
        self.more = ways.more
        self.flit_bytes = config.bytes_per_cycle
        self.counters = NetworkCounters()
        self.entrances = [
            Entrance(self, number, way, _depth(config, ways.more, max(way) + ways.ahead))
            for number, way in enumerate(ways.cycles(config.latency.cycles(site.clock)))
        ]
        self.links: Sequence[Link] = [
            Link(env, self.counters, self.entrances) for _ in range(ways.links)
        ]
        self.packets = packets

    def cycles_of(self, request: MemoryRequest, source: int) -> int:
        """Cycles of a packet of one flit from a source to its link, up to its entry (`more`)."""
        if self.ideal:
            return 0
        return self.entrances[source].latencies[self.packets.link(request)] - self.more

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        """Packets under way."""
        return sum(entrance.inside for entrance in self.entrances)

    def waiting(self) -> Iterator[str]:
        """Lines for the watchdog: which requests wait, and for what."""
        for index, link in enumerate(self.links):
            if link.queue:
                yield f"{self.name}: {len(link.queue)} packets on their way to output {index}"

    def shared_counters(self) -> Iterable[object]:
        return (self.counters,)


def _depth(config: CrossbarConfig, more: int, way: int) -> int:
    """Packets that one source may have in a network, in which all take `more` cycles longer.

    The longest way takes `way` cycles in all.
    """
    if config.ideal:
        return NEVER
    return config.queue + (way if config.pipelined else more)


class ToBanks(Packets):
    """Requests go to the links in turn, line by line, or as an interleaving says.

    Args:
        shift: bytes of a line, as a power of two.
        links: how many there are.
        interleaving: of lines; None: in turn.
    """

    def __init__(self, shift: int, links: int, interleaving: Interleaving | None = None) -> None:
        self._shift = shift
        self._links = links
        self._interleaving = interleaving

    def link(self, request: MemoryRequest) -> int:
        line = request.address >> self._shift
        interleaving = self._interleaving
        return line % self._links if interleaving is None else interleaving.part(line)

    def size(self, request: MemoryRequest) -> int:
        if request.kind == _LOAD or request.kind == _WALK:
            return _HEADER_BYTES
        return SECTOR_BYTES * SECTOR_COUNTS[request.sectors & SECTORS]


class ToNearBanks(ToBanks):
    """Loads go to the link at the same place as their line's in the part of their SM.

    Stores and atomics go to the link of their line.

    Args:
        shift, links, interleaving: see `ToBanks`.
        part_of_sm: by SM.
        parts: how many there are, of as many links each.
    """

    def __init__(
        self,
        shift: int,
        links: int,
        interleaving: Interleaving | None,
        part_of_sm: Sequence[int],
        parts: int,
    ) -> None:
        super().__init__(shift, links, interleaving)
        self._part_of_sm = list(part_of_sm)
        self._each = links // parts

    def link(self, request: MemoryRequest) -> int:
        home = super().link(request)
        if request.kind != _LOAD:
            return home
        return self._part_of_sm[request.sm] * self._each + home % self._each


class ToVirtualBanks(ToBanks):
    """By the number of a line within its page, in which all virtual names of the line agree.

    Page-table reads go by their physical line.

    Args:
        shift, links, interleaving: see `ToBanks`.
        lines: L2 lines of a page of memory, a power of two.
    """

    def __init__(
        self, shift: int, links: int, interleaving: Interleaving | None, lines: int
    ) -> None:
        super().__init__(shift, links, interleaving)
        self._mask = lines - 1

    def link(self, request: MemoryRequest) -> int:
        if not isinstance(request, VirtualRequest):
            return super().link(request)
        line = request.line & self._mask
        interleaving = self._interleaving
        return line % self._links if interleaving is None else interleaving.part(line)


class ToSms(Packets):
    """Each SM has a link of its own.

    Args:
        first: index of the first SM.
        returns: whether answers to an `OwnReturn` go to its link.
    """

    def __init__(self, first: int, returns: bool = False) -> None:
        self._first = first
        self._returns = returns

    def link(self, request: MemoryRequest) -> int:
        if not self._returns or request.back is None:
            return request.sm - self._first
        back = request.way_back()
        assert isinstance(back, OwnReturn)
        return back.link

    def size(self, request: MemoryRequest) -> int:
        if request.kind == _LOAD or request.kind == _ATOMIC:
            return SECTOR_BYTES * SECTOR_COUNTS[request.sectors & SECTORS]
        return _HEADER_BYTES


def with_ports(longer: list[list[int]], sources: int, links: int, more: int) -> list[list[int]]:
    """How much longer packets take, with further sources and links.

    Args:
        longer: by source and link, of the others.
        sources: further ones.
        links: further ones.
        more: of the way to them.
    """
    if not sources:
        return longer
    others = len(longer[0])
    own = [[*row, *[more] * links] for row in longer]
    return own + [[0] * others + [more] * links for _ in range(sources)]
