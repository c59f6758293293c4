"""The link between the GPU and the host: two lanes, each of which moves one thing after another."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attr

from gpusim.config.paging import LinkConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Probe
from gpusim.core.metrics import GigabytesPerSecond, Metric, PerCycle, declare_metrics
from gpusim.files.units import Hertz


@attr.s(auto_attribs=True)
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
        "link_use", "fraction", "time that the lane to the GPU is busy", PerCycle("busy_to_device")
    ),
    Metric(
        "link_back_use",
        "fraction",
        "time that the lane to the host is busy",
        PerCycle("busy_to_host"),
    ),
)


class Link(Component):
    """Full duplex: what moves one way does not hinder what moves the other way.

    A lane is busy from the beginning of a transfer's overhead to its last byte, which arrives a
    latency later.

    Attributes:
        on_transfer: announces a transfer: application, whether it goes to the host, bytes, cycles
            in which its lane begins with it and has moved it, and in which its last byte arrives.
    """

    name = "link"
    path = "link"

    def __init__(self, env: EventLoop, config: LinkConfig, clock: Hertz, apps: int) -> None:
        self.env = env
        self.counters = [LinkCounters() for _ in range(apps)]
        self.on_transfer: Probe[[int, bool, int, int, int, int]] = Probe()
        self._latency = config.latency.cycles(clock)
        self._overhead = config.overhead.cycles(clock)
        self._cycles_per_byte = Fraction(clock, config.bandwidth)
        self._free = [0, 0]
        """When the lanes to the device and to the host have moved all that they were given."""

    def move_pages(self, app: int, size: int, *, to_host: bool) -> int:
        """Begin a transfer of pages as soon as its lane is free; returns when it has arrived."""
        if to_host:
            self.counters[app].transfers_to_host += 1
        else:
            self.counters[app].transfers_to_device += 1
        return self._move(app, size, to_host, self._overhead)

    def move_line(self, app: int, size: int, *, to_host: bool) -> int:
        """Likewise for a single access, which has no overhead."""
        return self._move(app, size, to_host, 0)

    def _move(self, app: int, size: int, to_host: bool, overhead: int) -> int:
        begin = max(self._free[to_host], self.env._now)
        busy = overhead + -int(-size * self._cycles_per_byte // 1)
        self._free[to_host] = begin + busy
        counters = self.counters[app]
        if to_host:
            counters.bytes_to_host += size
            counters.busy_to_host += busy
        else:
            counters.bytes_to_device += size
            counters.busy_to_device += busy
        arrived = begin + busy + self._latency
        if self.on_transfer.listeners:
            self.on_transfer(app, to_host, size, begin, begin + busy, arrived)
        return arrived

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("transfers", self.on_transfer),)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
