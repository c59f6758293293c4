"""Where a GPU of a node meets its links: requests leave, answers come, and both the other way."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import ClassVar, Final

from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.engine import NEVER, EventLoop, NeverFull, Port, Probe, Sink
from gpusim.core.interfaces import Inbound
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.warp_program import SECTOR_BYTES, SECTOR_COUNTS, SECTORS
from gpusim.hardware.node.link import NodeLink
from gpusim.hardware.node.link_ends import LinkEnds
from gpusim.hardware.node.packet import Packet, RemoteAccess, Way
from gpusim.hardware.node.reader_copies import AskedBanks, ReaderCopies, RemoteFetch
from gpusim.hardware.node.traffic import PairTraffic

_LOAD: Final = int(Kind.LOAD)
_WALK: Final = int(Kind.WALK)
_STORE: Final = int(Kind.STORE)
_WRITEBACK: Final = int(Kind.WRITEBACK)
_REDUCE: Final = int(Kind.REDUCE)
_INTERCONNECT: Final = int(State.INTERCONNECT)

_MOST_DATA: Final = 256
"""Bytes of data in a packet, as NVLink has them (Foley 2017)."""


@frozen(eq=False, repr=False)
class CrossbarPorts:
    """The ports of a GPU's crossbar that belong to its links.

    Attributes:
        requests_out: where requests of its SMs to other GPUs come out.
        requests_in: where those of other GPUs go in.
        answers_out: where answers to other GPUs come out.
        answers_in: where answers to its SMs go in.
        first: the number of the first of `answers_out`, counted as SMs are.
        line_shift: consecutive lines of ``1 << line_shift`` bytes take the ports in turn.
    """

    requests_out: Sequence[Inbound]
    requests_in: Sequence[Sink]
    answers_out: Sequence[Inbound]
    answers_in: Sequence[Sink]
    first: int
    line_shift: int


@frozen(eq=False, repr=False)
class GatewaySite:
    """Where a gateway stands in a node.

    Attributes:
        env: the environment.
        gpu: the GPU that it belongs to.
        memory_bytes: of each GPU, whose addresses follow those of the one before.
        walk_read: where a read of a page-table entry goes in this GPU.
        overhead: bytes of each packet beside its data.
    """

    env: EventLoop
    gpu: int
    memory_bytes: int
    walk_read: Callable[[MemoryRequest], Sink]
    overhead: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Gateway(Component):
    """Takes requests to other GPUs out of the crossbar and puts them on links, and so on.

    A request of another GPU goes into the crossbar as a `RemoteAccess`, whose answer comes out on
    a link of the crossbar that is the gateway's; a load of one whose L2 cache keeps the line goes
    to the bank on a channel of its own (`AskedBanks`).  Packets that pass this GPU on their way go
    from link to link.  Requests wait in the crossbar while the link that they take is full.
    Page-table reads of walkers come and go beside the crossbar.

    Args:
        site: where it stands.
        ports: of the crossbar.

    Attributes:
        arrivals: packets that come out of links to this GPU.
        walks: where walkers send reads of entries in other GPUs' memories.
        walk_answers: answers to such reads of other GPUs.
        copies: what its L2 cache keeps of other GPUs' memories; None: nothing.
        asked: where loads of other GPUs look for their lines, whose L2 caches keep them; None: they
            go through the crossbar.
        host: where requests to the host's memory go; None: no page of SMs lies there.
    """

    path = "node/gateway"
    states: ClassVar[tuple[str, ...]] = ("link", "remote")
    state_family: ClassVar[str] = "memory"

    def __init__(self, site: GatewaySite, ports: CrossbarPorts) -> None:
        self.env = site.env
        self.name = f"gateway[{site.gpu}]"
        self.instance = site.gpu
        self.arrivals = LinkEnds()
        self.walks: Port[MemoryRequest] = Port(site.env, f"{self.name}.walks")
        self.walk_answers: Port[Packet] = Port(site.env, f"{self.name}.walk_answers")
        self.on_remote: Probe[[int, int]] = Probe()
        """Page and this GPU, of a request of its SMs that leaves."""
        self.copies: ReaderCopies | None = None
        self.asked: AskedBanks | None = None
        self.host: Sink | None = None
        self._host_answers: Port[MemoryRequest] | None = None
        self._misses: Port[MemoryRequest] | None = None
        self._gpu = site.gpu
        self._memory_bytes = site.memory_bytes
        self._walk_read = site.walk_read
        self._overhead = site.overhead
        self._ports = ports
        self._links: Sequence[NodeLink] = ()
        self._ways: list[Way] = []
        self._pairs: Sequence[PairTraffic] = ()
        self._to_banks: list[list[RemoteAccess]] = [[] for _ in ports.requests_in]
        self._to_sms: list[list[MemoryRequest]] = [[] for _ in ports.answers_in]
        self._coming = 0
        """Packets that have come, and wait for room in the crossbar."""
        self._outstanding = 0
        self.process = site.env.start(self._run())
        self.arrivals.connect(self.process)
        for port in (self.walks, self.walk_answers):
            port.connect(self.process)
        for way in (*ports.requests_out, *ports.answers_out):
            way.connect(self.process)

    def connect(
        self,
        links: Sequence[NodeLink],
        routes: Sequence[Sequence[int]],
        pairs: Sequence[PairTraffic],
    ) -> None:
        """Name all links of the node, and by GPU the way to it and where its traffic is counted."""
        self._links = links
        self._ways = [Way(self._gpu, gpu, tuple(route)) for gpu, route in enumerate(routes)]
        self._pairs = pairs

    def keep_copies(
        self, copies: ReaderCopies, misses: Port[MemoryRequest], asked: AskedBanks
    ) -> None:
        """Fetch what the L2 cache misses of other GPUs' memories, as these do."""
        self.copies = copies
        self.asked = asked
        self._misses = misses
        misses.connect(self.process)

    def reach_host(self, host: Sink) -> None:
        """Send requests to the host's memory there."""
        self.host = host
        self._host_answers = Port(self.env, f"{self.name}.host_answers")
        self._host_answers.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        arrivals, ports = self.arrivals, self._ports
        requests, answers = ports.requests_out, ports.answers_out
        walks, walk_answers = self.walks, self.walk_answers
        while True:
            now = self.env._now
            while arrivals.ready <= now:
                self._arrived(arrivals.take())
            upcoming = self._hear_host(now)
            if self._coming:
                self._send_waiting()
            while walks.ready <= now and (read := walks.take()) is not None:
                self._send(read, self._ways[read.address // self._memory_bytes])
            while walk_answers.ready <= now and (answer := walk_answers.take()) is not None:
                self._links[answer.route[0]].send(answer)
            upcoming = min(
                upcoming, arrivals.ready, walks.ready, walk_answers.ready, self._fetch(now)
            )
            for link in answers:
                while link.ready <= now:
                    self._answer(link.take())
                if link.ready < upcoming:
                    upcoming = link.ready
            for link in requests:
                cycle = link.ready
                if cycle <= now:
                    cycle = self._leave(link)
                if cycle < upcoming:
                    upcoming = cycle
            yield None if upcoming == NEVER else upcoming - now

    # -- what leaves -----------------------------------------------------------------------------

    def _leave(self, link: Inbound) -> int:
        """Put the requests that have come out on their links; returns when to go on."""
        now = self.env._now
        while link.ready <= now:
            request = link.head()
            owner = request.address // self._memory_bytes
            if owner >= len(self._ways):
                self._ask_host(link.take())
                continue
            way = self._ways[owner]
            first = self._links[way.route[0]]
            if first.full():
                return first.room_at()
            if self.on_remote.listeners:
                self.on_remote(request.tag, self._gpu)
            link.take()
            request.trail.append(self.state_numbers[0])
            request.trail.append(now)
            if self.copies is not None and request.kind != _LOAD:
                self.copies.stored(request)
            self._send(request, way)
        return link.ready

    def _fetch(self, now: int) -> int:
        """Send what the L2 cache misses; returns when to go on."""
        misses, copies = self._misses, self.copies
        if misses is None or copies is None:
            return NEVER
        while misses.ready <= now:
            owner = misses.queue[0].address // self._memory_bytes
            if owner >= len(self._ways):
                request = misses.take()
                assert request is not None
                self._ask_host(copies.fetch(request, self.state_numbers[0], now))
                continue
            way = self._ways[owner]
            first = self._links[way.route[0]]
            if first.full():
                return first.room_at()
            request = misses.take()
            assert request is not None
            if self.on_remote.listeners:
                self.on_remote(request.tag, self._gpu)
            self._send(copies.fetch(request, self.state_numbers[0], now), way)
        return misses.ready

    def _ask_host(self, request: MemoryRequest) -> None:
        """A request to the host's memory leaves over the GPU's own link to it."""
        assert self.host is not None
        assert self._host_answers is not None
        if self.copies is not None and request.kind != _LOAD:
            self.copies.stored(request)
        request.return_to(self._host_answers)
        self._outstanding += 1
        self.host.send(request)

    def _hear_host(self, now: int) -> int:
        """Take what the host has answered; returns when to go on."""
        answers = self._host_answers
        if answers is None:
            return NEVER
        while answers.ready <= now:
            request = answers.take()
            assert request is not None
            self._outstanding -= 1
            self._served(request, now)
        return answers.ready

    def _send(self, request: MemoryRequest, way: Way) -> None:
        size = self._overhead + _request_data(request)
        self._pairs[way.target].sent(request, size)
        self._outstanding += 1
        packet = Packet(request, way, size, self.env._now, answer=False)
        self._links[way.route[0]].send(packet)

    def send_page(self, chunk: MemoryRequest, target: int, size: int) -> None:
        """Put a piece of a page on its link; every 256 bytes of it have a header."""
        way = self._ways[target]
        whole = size + -(-size // _MOST_DATA) * self._overhead
        packet = Packet(chunk, way, whole, self.env._now, answer=False)
        self._links[way.route[0]].send(packet)

    def _answer(self, access: MemoryRequest) -> None:
        """The answer to a request of another GPU has come out of the crossbar."""
        assert isinstance(access, RemoteAccess)
        packet = access.packet
        trail = packet.request.trail
        trail.append(self.state_numbers[0])
        trail.append(self.env._now)
        self.turn(packet)
        self._links[packet.route[0]].send(packet)

    def turn(self, packet: Packet) -> None:
        """Make the answer of a packet that has brought a request of another GPU."""
        size = self._overhead + _answer_data(packet.request)
        packet.turn(self._ways[packet.source], size)

    # -- what comes ------------------------------------------------------------------------------

    def _arrived(self, packet: Packet) -> None:
        """A packet has come over a link: it is for this GPU, or passes."""
        packet.hop += 1
        if packet.target != self._gpu:
            self._links[packet.route[packet.hop]].send(packet)
            return
        request, now, ports = packet.request, self.env._now, self._ports
        if request.kind == _WRITEBACK:  # a piece of a page
            request.answer()
            return
        if packet.answer:
            self._outstanding -= 1
            self._pairs[packet.source].came(request, packet.size, now - packet.sent_at)
            if request.kind == _WALK:
                request.answer()
                return
            self._served(request, now)
            return
        if request.kind == _WALK:
            request.return_to(WalkReturn(self, packet))
            self._walk_read(request).send(request)
            return
        request.trail.append(self.state_numbers[1])
        request.trail.append(now)
        place = (request.address >> ports.line_shift) % len(self._to_banks)
        access = RemoteAccess(packet, ports.first + place, now)
        if self.asked is not None and request.kind == _LOAD:
            self.asked.send(access, place)
        else:
            self._to_banks[place].append(access)
            self._coming += 1

    def _served(self, request: MemoryRequest, now: int) -> None:
        """A request of this GPU has been answered: it goes on to the one that waits for it."""
        if isinstance(request, RemoteFetch):
            request.fetched.answer()
            return
        request.trail.append(_INTERCONNECT)
        request.trail.append(now)
        place = (request.address >> self._ports.line_shift) % len(self._to_sms)
        self._to_sms[place].append(request)
        self._coming += 1

    def _send_waiting(self) -> None:
        """Put what has come into the crossbar, as far as there is room."""
        ports, wake = self._ports, self.process.wake
        for place, accesses in enumerate(self._to_banks):
            if accesses:
                entrance = ports.requests_in[place]
                while accesses and not entrance.full:
                    entrance.send(accesses.pop(0))
                    self._coming -= 1
                if accesses:
                    entrance.when_free(wake)
        for place, answers in enumerate(self._to_sms):
            if answers:
                entrance = ports.answers_in[place]
                while answers and not entrance.full:
                    entrance.send(answers.pop(0))
                    self._coming -= 1
                if answers:
                    entrance.when_free(wake)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return self._outstanding + self._coming

    def waiting(self) -> Iterator[str]:
        if self._outstanding:
            yield f"{self.name}: {self._outstanding} requests wait for other GPUs or the host"
        if self._coming:
            yield f"{self.name}: {self._coming} packets wait for room in the crossbar"


@mypyc_attr(allow_interpreted_subclasses=True)
class WalkReturn(NeverFull):
    """Where a read of a page-table entry is answered that came from another GPU."""

    def __init__(self, gateway: Gateway, packet: Packet) -> None:
        self.name = gateway.name
        self._gateway = gateway
        self._packet = packet

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Send the answer back, when the L2 cache or DRAM has it."""
        self._gateway.turn(self._packet)
        self._gateway.walk_answers.send(self._packet, extra_cycles)


@mypyc_attr(allow_interpreted_subclasses=True)
class Switch(Component):
    """A switch between all GPUs: what comes over one link goes on over another."""

    path = "node/switch"
    name = "switch"

    def __init__(self, env: EventLoop) -> None:
        self.env = env
        self.arrivals = LinkEnds()
        self._links: Sequence[NodeLink] = ()
        self.process = env.start(self._run())
        self.arrivals.connect(self.process)

    def connect(self, links: Sequence[NodeLink]) -> None:
        """Name all links of the node."""
        self._links = links

    def _run(self) -> Generator[int | None, None, None]:
        arrivals = self.arrivals
        while True:
            now = self.env._now
            while arrivals.ready <= now:
                packet = arrivals.take()
                packet.hop += 1
                self._links[packet.route[packet.hop]].send(packet)
            yield None if arrivals.ready == NEVER else arrivals.ready - now


def _request_data(request: MemoryRequest) -> int:
    """Bytes of data that go with a request."""
    kind = request.kind
    if kind == _LOAD or kind == _WALK:
        return 0
    return SECTOR_BYTES * SECTOR_COUNTS[request.sectors & SECTORS]


def _answer_data(request: MemoryRequest) -> int:
    """Bytes of data that go with an answer."""
    kind = request.kind
    if kind == _STORE or kind == _REDUCE:
        return 0
    return SECTOR_BYTES * SECTOR_COUNTS[request.sectors & SECTORS]
