"""The link between a GPU and the host: two lanes, each of which moves one thing after another."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from fractions import Fraction
from typing import Any

import attr

from gpusim.config.paging import LinkConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Port, Probe
from gpusim.core.metrics import GigabytesPerSecond, MeanPerCycle, Metric, declare_metrics
from gpusim.files.units import Hertz


@attr.s(auto_attribs=True, eq=False, repr=False)
class LinkCounters:
    """What moved over the link for one application."""

    bytes_to_device: int = count("bytes that moved to the GPU", "bytes")
    bytes_to_host: int = count("bytes that moved to the host", "bytes")
    transfers_to_device: int = count("transfers of pages to the GPU")
    transfers_to_host: int = count("transfers of pages to the host")
    busy_to_device: int = count("cycles in which the lane to the GPU was busy", "cycles")
    busy_to_host: int = count("cycles in which the lane to the host was busy", "cycles")


declare_metrics(
    LinkCounters,
    Metric(
        "link_gb_per_s", "GB/s", "over the link to the GPU", GigabytesPerSecond("bytes_to_device")
    ),
    Metric(
        "link_back_gb_per_s",
        "GB/s",
        "over the link to the host",
        GigabytesPerSecond("bytes_to_host"),
    ),
    Metric(
        "link_use",
        "fraction",
        "time that the lane to the GPU is busy",
        MeanPerCycle("busy_to_device"),
    ),
    Metric(
        "link_back_use",
        "fraction",
        "time that the lane to the host is busy",
        MeanPerCycle("busy_to_host"),
    ),
)


class _Transfer:
    """What one lane moves in the cycles from `begin` to `end`.

    Attributes:
        pages: whether it is of pages, and no single access.
        counted: cycle up to which its lane is counted as busy.
    """

    __slots__ = ("app", "begin", "counted", "end", "pages", "size", "to_host")

    def __init__(
        self, app: int, size: int, begin: int, end: int, *, to_host: bool, pages: bool
    ) -> None:
        self.app = app
        self.size = size
        self.begin = begin
        self.end = end
        self.to_host = to_host
        self.pages = pages
        self.counted = begin


class Link(Component):
    """Full duplex: what moves one way does not hinder what moves the other way.

    A lane is busy from the beginning of a transfer's overhead to its last byte, which arrives a
    latency later.  A transfer is counted when its lane has moved it, its cycles as they pass.

    Args:
        gpu: whose it is; None: there is one.

    Attributes:
        gpu: see above.
        on_transfer: announces a transfer: application, whether it goes to the host, bytes, cycles
            in which its lane begins with it and has moved it, and in which its last byte arrives.
    """

    path = "link"

    def __init__(
        self, env: EventLoop, config: LinkConfig, clock: Hertz, apps: int, gpu: int | None = None
    ) -> None:
        self.env = env
        self.gpu = gpu
        self.name = "link" if gpu is None else f"link[{gpu}→host]"
        self.instance = gpu or 0
        self.counters = [LinkCounters() for _ in range(apps)]
        self.on_transfer: Probe[[int, bool, int, int, int, int]] = Probe()
        self._latency = config.latency.cycles(clock)
        self._overhead = config.overhead.cycles(clock)
        back = config.bandwidth if config.bandwidth_back is None else config.bandwidth_back
        self._cycles_per_byte = [Fraction(clock, config.bandwidth), Fraction(clock, back)]
        """To the device, and to the host."""
        self._free = [0, 0]
        """When the lanes to the device and to the host have moved all that they were given."""
        self._lanes: list[list[_Transfer]] = [[], []]
        """What they have not moved, the first first."""
        self._moved: Port[_Transfer] = Port(env, f"{self.name}.moved")
        self.process = env.start(self._run())
        self._moved.connect(self.process)

    def _run(self) -> Generator[int | None, None, None]:
        while True:
            while (transfer := self._moved.take()) is not None:
                del self._lanes[transfer.to_host][0]
                self._count(transfer)
            yield self._moved.pause()

    def move_pages(self, app: int, size: int, *, to_host: bool) -> int:
        """Begin a transfer of pages as soon as its lane is free; returns when it has arrived."""
        return self._move(app, size, self._overhead, to_host=to_host, pages=True)

    def move_line(self, app: int, size: int, *, to_host: bool) -> int:
        """Begin a single access, which has no overhead; returns when it has arrived."""
        return self._move(app, size, 0, to_host=to_host, pages=False)

    def _move(self, app: int, size: int, overhead: int, *, to_host: bool, pages: bool) -> int:
        now = self.env._now
        begin = max(self._free[to_host], now)
        end = begin + overhead + -int(-size * self._cycles_per_byte[to_host] // 1)
        self._free[to_host] = end
        transfer = _Transfer(app, size, begin, end, to_host=to_host, pages=pages)
        self._lanes[to_host].append(transfer)
        self._moved.send(transfer, end - now)
        if self.on_transfer.listeners:
            self.on_transfer(app, to_host, size, begin, end, end + self._latency)
        return end + self._latency

    def _count(self, transfer: _Transfer) -> None:
        """Count a transfer whose lane has moved it."""
        self._count_busy(transfer, transfer.end)
        counters = self.counters[transfer.app]
        if transfer.to_host:
            counters.bytes_to_host += transfer.size
            counters.transfers_to_host += transfer.pages
        else:
            counters.bytes_to_device += transfer.size
            counters.transfers_to_device += transfer.pages

    def _count_busy(self, transfer: _Transfer, until: int) -> None:
        """Count the cycles in which its lane has moved it, up to a cycle."""
        cycles = max(min(until, transfer.end) - transfer.counted, 0)
        transfer.counted += cycles
        if transfer.to_host:
            self.counters[transfer.app].busy_to_host += cycles
        else:
            self.counters[transfer.app].busy_to_device += cycles

    def in_flight(self) -> int:
        return len(self._moved)

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("transfers", self.on_transfer),)

    def app_counters(self, app: int) -> Iterable[object]:
        for lane in self._lanes:
            for transfer in lane:
                self._count_busy(transfer, self.env._now)
        return (self.counters[app],)
