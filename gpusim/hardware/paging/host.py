"""The host's memory as the GPU sees it over the link: where lines of remote pages are read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import ClassVar, Final

import attr

from gpusim.config.schema import L2Config
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port
from gpusim.core.interfaces import Route
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.hardware.paging.link import Link

_WRITEBACK: Final = int(Kind.WRITEBACK)

HOST_BASE: Final = 1 << 46
"""The first address of the host's memory among those of the device."""

HEADER_BYTES: Final = 32
"""Bytes of a request for a line to the host (our choice: a PCIe header and its framing)."""


class RouteBeyond(Route):
    """To the host's memory, or as another route says.

    Args:
        device: for addresses of the device's memory.
        host: where the host takes requests.
    """

    def __init__(self, device: Route, host: Port[MemoryRequest]) -> None:
        self._device = device
        self._host = host

    def port(self, address: int) -> Port[MemoryRequest]:
        return self._host if address >= HOST_BASE else self._device.port(address)


@attr.s(auto_attribs=True)
class HostCounters:
    """What an application read and wrote in the host's memory."""

    reads: int = count("lines of remote pages that were read")
    writes: int = count("lines of remote pages that were written back")
    read_bytes: int = count("bytes of the former", "bytes")
    write_bytes: int = count("bytes of the latter", "bytes")
    read_cycles: int = count("from a request's arrival to its data, summed over reads", "cycles")


declare_metrics(
    HostCounters,
    Metric("remote_reads", "1", "lines read from the host", Total("reads")),
    Metric("remote_latency", "cycles", "latency of such a read", Ratio("read_cycles", "reads")),
)


class HostMemory(Component):
    """Answers reads of lines when they have come over the link; takes those written back.

    Args:
        latency: of the host's memory, in cycles.
        l2: the cache whose lines, or sectors, are asked for.
        announce: called with the address of every read or write; None: accesses are not counted.

    Attributes:
        requests: from the L2 cache.
    """

    name = "host"
    path = "host"
    states: ClassVar[tuple[str, ...]] = ("link",)
    state_family: ClassVar[str] = "memory"

    def __init__(
        self,
        env: EventLoop,
        link: Link,
        latency: int,
        l2: L2Config,
        apps: int,
        announce: Callable[[int], None] | None,
    ) -> None:
        self.env = env
        self.counters = [HostCounters() for _ in range(apps)]
        self.requests: Port[MemoryRequest] = Port(env, "host.requests")
        self._link = link
        self._latency = latency
        self._line = l2.line
        self._sectored = l2.sectored
        self._announce = announce
        self._reading: Port[MemoryRequest] = Port(env, "host.reading")
        self.process = env.start(self._run())
        self.requests.connect(self.process)
        self._reading.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, reading = self.requests, self._reading
        while True:
            now = self.env._now
            while (request := requests.take()) is not None:
                if self._announce is not None:
                    self._announce(request.address)
                self._begin(request, now)
            while (request := reading.take()) is not None:
                arrived = self._link.move_line(request.app, self._size(request), to_host=False)
                counters = self.counters[request.app]
                counters.reads += 1
                counters.read_cycles += arrived - request.trail[-1]
                counters.read_bytes += self._size(request)
                request.answer(arrived - now)
            upcoming = min(requests.ready, reading.ready)
            yield None if upcoming == NEVER else upcoming - now

    def _begin(self, request: MemoryRequest, now: int) -> None:
        if request.kind == _WRITEBACK:
            counters = self.counters[request.app]
            counters.writes += 1
            counters.write_bytes += self._size(request)
            self._link.move_line(request.app, self._size(request), to_host=True)
            return
        request.trail.append(self.state_numbers[0])
        request.trail.append(now)
        there = self._link.move_line(request.app, HEADER_BYTES, to_host=True)
        self._reading.send(request, there + self._latency - now)

    def _size(self, request: MemoryRequest) -> int:
        return SECTOR_BYTES * (request.sectors & 0xFF).bit_count() if self._sectored else self._line

    def in_flight(self) -> int:
        return len(self.requests) + len(self._reading)

    def waiting(self) -> Iterator[str]:
        if self.in_flight():
            yield f"host: {self.in_flight()} reads wait for the link"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
