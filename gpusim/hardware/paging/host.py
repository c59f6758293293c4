"""The host's memory as a GPU sees it over its link: where lines of remote pages are read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import ClassVar, Final

import attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import NEVER, EventLoop, Port
from gpusim.core.interfaces import Route
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.warp_program import SECTOR_BYTES, SECTOR_COUNTS, SECTORS
from gpusim.hardware.paging.link import Link

_LOAD: Final = int(Kind.LOAD)
_ATOMIC: Final = int(Kind.ATOMIC)
_WRITEBACK: Final = int(Kind.WRITEBACK)

HOST_BASE: Final = 1 << 46
"""The first address of the host's memory among those of the device."""

HEADER_BYTES: Final = 32
"""Bytes of a request for a line, or of an acknowledgement (our choice: a PCIe header and its
framing)."""


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


@attr.s(auto_attribs=True, eq=False, repr=False)
class HostCounters:
    """What an application read and wrote in the host's memory."""

    reads: int = count("lines of remote pages that were read")
    writes: int = count("lines of remote pages that were written back, or stored to on a node")
    read_bytes: int = count("bytes of the former", "bytes")
    write_bytes: int = count("bytes of the latter", "bytes")
    read_cycles: int = count("from a request's arrival to its data, summed over reads", "cycles")
    atomics: int = count("atomics that a host performed; bytes of both, there and back", later=True)


declare_metrics(
    HostCounters,
    Metric("remote_reads", "1", "lines read from the host", Total("reads")),
    Metric("remote_latency", "cycles", "latency of such a read", Ratio("read_cycles", "reads")),
)


class HostMemory(Component):
    """Answers reads of lines when they have come over the link; takes those written back.

    On a node it takes what its GPU's SMs ask for: stores are acknowledged, and atomics performed in
    the host's memory [our choice: as PCIe has them].  An L2 cache reads lines that it stores to.

    Args:
        link: of its GPU.
        latency: of the host's memory, in cycles.
        line: bytes that a read or write-back moves; None: those of its sectors.
        announce: called with the address of every access; None: accesses are not counted.

    Attributes:
        requests: from the L2 cache, or from where SMs' requests leave the GPU.
    """

    path = "host"
    states: ClassVar[tuple[str, ...]] = ("link",)
    state_family: ClassVar[str] = "memory"

    def __init__(
        self,
        env: EventLoop,
        link: Link,
        latency: int,
        line: int | None,
        apps: int,
        announce: Callable[[int], None] | None,
    ) -> None:
        self.env = env
        self.name = "host" if link.gpu is None else f"host[{link.gpu}]"
        self.instance = link.gpu or 0
        self.counters = [HostCounters() for _ in range(apps)]
        self.requests: Port[MemoryRequest] = Port(env, f"{self.name}.requests")
        self._link = link
        self._latency = latency
        self._line = line
        self._of_sms = link.gpu is not None
        """Whether requests come from SMs."""
        self._announce = announce
        self._served: Port[MemoryRequest] = Port(env, f"{self.name}.served")
        self.process = env.start(self._run())
        self.requests.connect(self.process)
        self._served.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        requests, served = self.requests, self._served
        while True:
            now = self.env._now
            while (request := requests.take()) is not None:
                if self._announce is not None:
                    self._announce(request.address)
                self._begin(request, now)
            while (request := served.take()) is not None:
                self._answer(request, now)
            upcoming = min(requests.ready, served.ready)
            yield None if upcoming == NEVER else upcoming - now

    def _begin(self, request: MemoryRequest, now: int) -> None:
        """A request has come: it crosses the link, with its data if it brings some."""
        size = HEADER_BYTES
        if request.kind == _WRITEBACK or not self._reads(request):
            size = self._size(request)
            self.counters[request.app].write_bytes += size
        there = self._link.move_line(request.app, size, to_host=True)
        if request.kind == _WRITEBACK:
            self.counters[request.app].writes += 1
            return
        request.trail.append(self.state_numbers[0])
        request.trail.append(now)
        self._served.send(request, there + self._latency - now)

    def _answer(self, request: MemoryRequest, now: int) -> None:
        """The host's memory has served a request: its answer crosses the link."""
        counters = self.counters[request.app]
        reads = self._reads(request)
        atomic = not reads and request.kind == _ATOMIC
        size = self._size(request) if reads or atomic else HEADER_BYTES
        arrived = self._link.move_line(request.app, size, to_host=False)
        if reads:
            counters.reads += 1
            counters.read_cycles += arrived - request.trail[-1]
        elif atomic:
            counters.atomics += 1
        else:
            counters.writes += 1
        if reads or atomic:
            counters.read_bytes += size
        request.answer(arrived - now)

    def _reads(self, request: MemoryRequest) -> bool:
        """Whether a request wants a line, and does nothing to it."""
        return request.kind == _LOAD or not self._of_sms

    def _size(self, request: MemoryRequest) -> int:
        if self._line is not None:
            return self._line
        return SECTOR_BYTES * SECTOR_COUNTS[request.sectors & SECTORS]

    def in_flight(self) -> int:
        return len(self.requests) + len(self._served)

    def waiting(self) -> Iterator[str]:
        if self.in_flight():
            yield f"{self.name}: {self.in_flight()} requests wait for the link"

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
