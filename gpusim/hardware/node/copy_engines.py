"""The copy engines of a GPU of a node: they read lines, and write them where they belong."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from math import gcd
from typing import Final

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.node import CopyEngineConfig
from gpusim.core.component import Component
from gpusim.core.copy_order import CopyOrder
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port, Sink
from gpusim.core.interfaces import Inbound
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, Mapping
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.states import State
from gpusim.core.unboxed import pair
from gpusim.core.warp_program import BYTES_SHIFT, COVERED_SHIFT, SECTOR_BYTES, WHOLE_SECTOR
from gpusim.files.units import Hertz

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_REDUCE: Final = int(Kind.REDUCE)
_INTERCONNECT: Final = int(State.INTERCONNECT)


@attr.s(auto_attribs=True, eq=False, repr=False)
class CopyEngineCounters:
    """What the copy engines of one GPU did for one application."""

    copies: int = count("copies that were executed")
    copied_bytes: int = count("bytes of these", "bytes")
    reads: int = count("reads of lines, or of parts of them")
    writes: int = count("writes of these, additions included")
    copy_cycles: int = count("from a copy's first read to its last write, summed", "cycles")


declare_metrics(
    CopyEngineCounters,
    Metric("copies", "1", "copies that copy engines executed", Total("copies")),
    Metric("copied_bytes", "bytes", "moved by copy engines", Total("copied_bytes")),
    Metric(
        "copy_latency",
        "cycles",
        "of a copy, from its first read to its last write",
        Ratio("copy_cycles", "copies"),
    ),
)


@frozen(eq=False, repr=False)
class CopyEngineSite:
    """Where the copy engines of a GPU stand.

    Attributes:
        env: the environment.
        gpu: the GPU.
        config: what they are like.
        clock: of the core.
        apps: applications that share the machine.
        line: bytes of the largest piece that is read at once.
        page_shift: bytes of the smallest pages, as a power of two.
        touch: what covers a page, which is placed now if this GPU is the first that asks for it.
        atomic_grain: bytes that additions change in a turn, and tell in how many they change
            theirs (`BYTES_SHIFT`); 0: they do not.
        byte_masks: whether stores tell the bytes that they write in other sectors (`BYTES_SHIFT`).
    """

    env: EventLoop
    gpu: int
    config: CopyEngineConfig
    clock: Hertz
    apps: int
    line: int
    page_shift: int
    touch: Callable[[int, int], Mapping]
    atomic_grain: int
    byte_masks: bool


@frozen(eq=False, repr=False)
class CopyPorts:
    """The ports of a GPU's crossbar that belong to its copy engines.

    Attributes:
        requests, answers: by port.
        first: the number of the first of them, counted as SMs are.
    """

    requests: Sequence[Sink]
    answers: Sequence[Inbound]
    first: int


class _Engine:
    """One engine, which executes one copy at a time.

    Attributes:
        order: that it executes; None: it is idle.
        begun: cycle in which it began with it.
        next: bytes that have been read, or are being read.
        left: bytes that have not been written.
        pieces: that are under way.
        free_at: when it may read on, in parts of a cycle.
    """

    __slots__ = ("begun", "free_at", "left", "next", "order", "pieces")

    def __init__(self) -> None:
        self.order: CopyOrder | None = None
        self.begun = 0
        self.next = 0
        self.left = 0
        self.pieces = 0
        self.free_at = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class CopyRequest(MemoryRequest):
    """A piece of a copy: it is read, then written.

    Attributes:
        engine: that copies it.
        place: of its first byte in the copy.
        size: bytes.
        port: of the crossbar.
    """

    __slots__ = ("engine", "place", "port", "size")

    engine: _Engine
    place: int
    size: int
    port: int


@mypyc_attr(allow_interpreted_subclasses=True)
class CopyEngines(Component):
    """Copy engines of a GPU, each of which executes one copy at a time, in the order of launches.

    An engine reads a piece after the other, at its bandwidth, as far as no more than `lines` are
    under way, and writes each where it belongs when it has come.  Requests go through the crossbar
    like those of SMs, to the GPU's own memory or over links.  An engine knows the frames of pages:
    the driver has looked them up [our choice].

    Args:
        site: where they stand.
        ports: of the crossbar.

    Attributes:
        orders: copies that are to be executed.
    """

    path = "node/copy"
    laws: Sequence[Law] = laws_of([CopyEngineCounters], Law("reads", "writes"))

    def __init__(self, site: CopyEngineSite, ports: CopyPorts) -> None:
        env, config = site.env, site.config
        self.env = env
        self.name = f"copy[{site.gpu}]"
        self.instance = site.gpu
        self.counters = [CopyEngineCounters() for _ in range(site.apps)]
        self.orders: Port[CopyOrder] = Port(env, f"{self.name}.orders")
        self._gpu = site.gpu
        self._line = site.line
        self._page_shift = site.page_shift
        self._touch = site.touch
        self._atomic_grain = site.atomic_grain
        self._byte_masks = site.byte_masks
        self._ports = ports
        self._most = config.lines
        common = gcd(int(site.clock), int(config.bandwidth))
        self._parts = int(config.bandwidth) // common
        self._parts_a_byte = int(site.clock) // common
        self._engines = [_Engine() for _ in range(config.count)]
        self._writes: list[list[CopyRequest]] = [[] for _ in ports.requests]
        self._port = 0
        self.process = env.start(self._run())
        self.orders.connect(self.process)
        for link in ports.answers:
            link.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        env, orders, answers = self.env, self.orders, self._ports.answers
        while True:
            now = env._now
            upcoming = NEVER
            for link in answers:
                while link.ready <= now:
                    self._answered(link.take())
                if link.ready < upcoming:
                    upcoming = link.ready
            for engine in self._engines:
                while engine.order is None and (order := orders.take()) is not None:
                    self._begin(engine, order)
            self._write()
            for engine in self._engines:
                upcoming = min(upcoming, self._read(engine))
            yield None if upcoming == NEVER else upcoming - now

    def _begin(self, engine: _Engine, order: CopyOrder) -> None:
        engine.order = order
        engine.begun = self.env._now
        engine.next = 0
        engine.left = order.copy.bytes
        self.counters[order.app].copies += 1
        order.copy.perform()
        if not engine.left:
            self._end(engine)

    def _end(self, engine: _Engine) -> None:
        order = engine.order
        assert order is not None
        self.counters[order.app].copy_cycles += self.env._now - engine.begun
        engine.order = None
        order.done.send(order)

    # -- pieces ----------------------------------------------------------------------------------

    def _read(self, engine: _Engine) -> int:
        """Read what may be read now; returns when to go on."""
        order, parts, now = engine.order, self._parts, self.env._now
        if order is None:
            return NEVER
        copy, ports = order.copy, self._ports
        while engine.next < copy.bytes and engine.pieces < self._most:
            if engine.free_at > now * parts:
                return -(-engine.free_at // parts)
            port = self._port
            entrance = ports.requests[port]
            if entrance.full:
                entrance.when_free(self.process.wake)
                return NEVER
            self._port = (port + 1) % len(ports.requests)
            place = engine.next
            size = self._size(copy.source + place, copy.target + place, copy.bytes - place)
            request = self._request(engine, _LOAD, copy.source + place, place, size)
            request.port = port
            request.sm = ports.first + port
            entrance.send(request)
            engine.next += size
            engine.pieces += 1
            engine.free_at = max(engine.free_at, now * parts) + size * self._parts_a_byte
            self.counters[order.app].reads += 1
        return NEVER

    def _size(self, source: int, target: int, left: int) -> int:
        """Bytes of the next piece, which crosses no line, neither where it is from nor to."""
        line = self._line
        return min(line - source % line, line - target % line, left)

    def _request(
        self, engine: _Engine, kind: int, address: int, place: int, size: int
    ) -> CopyRequest:
        """A request for bytes at a virtual address."""
        order, line, shift = engine.order, self._line, self._page_shift
        assert order is not None
        tag = order.asid << ASID_SHIFT | address >> shift
        frame = self._touch(tag, self._gpu).frame(tag)
        first = address % line
        physical = (frame << shift | address & (1 << shift) - 1) - first
        sectors = self._sectors(kind, first, first + size)
        trail = pair(_INTERCONNECT, self.env._now)
        request = CopyRequest(
            kind, order.app, order.asid, -1, tag, physical, address // line, sectors, 0, None, trail
        )
        request.engine = engine
        request.place = place
        request.size = size
        return request

    def _sectors(self, kind: int, first: int, end: int) -> int:
        """What a request for some bytes of a line tells of its sectors (`Segment`)."""
        low, high = first // SECTOR_BYTES, -(-end // SECTOR_BYTES)
        sectors = (1 << high) - (1 << low)
        if kind == _STORE:
            whole = range(-(-first // SECTOR_BYTES), end // SECTOR_BYTES)
            covered = sum(1 << sector for sector in whole)
            sectors |= covered << COVERED_SHIFT
            if self._byte_masks:
                of_whole = (WHOLE_SECTOR << SECTOR_BYTES * sector for sector in whole)
                sectors |= ((1 << end) - (1 << first) & ~sum(of_whole)) << BYTES_SHIFT
            return sectors
        if kind == _REDUCE and (grain := self._atomic_grain) > 0:
            return sectors | -(-end // grain) - first // grain << BYTES_SHIFT
        return sectors

    def _answered(self, request: MemoryRequest) -> None:
        """A piece has been read, or written."""
        assert isinstance(request, CopyRequest)
        engine = request.engine
        order = engine.order
        assert order is not None
        if request.kind == _LOAD:
            copy, counters = order.copy, self.counters[request.app]
            kind = _REDUCE if copy.adds else _STORE
            place, size = request.place, request.size
            write = self._request(engine, kind, copy.target + place, place, size)
            write.port = request.port
            write.sm = request.sm
            counters.writes += 1
            counters.copied_bytes += size
            self._writes[request.port].append(write)
            return
        engine.pieces -= 1
        engine.left -= request.size
        if not engine.left:
            self._end(engine)

    def _write(self) -> None:
        """Send the pieces that have been read on, as far as there is room."""
        for writes, entrance in zip(self._writes, self._ports.requests, strict=True):
            while writes and not entrance.full:
                entrance.send(writes.pop(0))
            if writes:
                entrance.when_free(self.process.wake)

    # -- reports ---------------------------------------------------------------------------------

    def in_flight(self) -> int:
        return len(self.orders) + sum(engine.order is not None for engine in self._engines)

    def waiting(self) -> Iterator[str]:
        for engine in self._engines:
            if engine.order is not None:
                yield f"{self.name}: {engine.left} bytes of a copy are not written"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
