"""One link of a node, one way: it moves one packet after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Any

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.node import NodeLinkConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Probe
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import GigabytesPerSecond, Metric, Ratio, declare_metrics
from gpusim.core.unboxed import IntList, between
from gpusim.files.units import Hertz
from gpusim.hardware.node.link_ends import LinkEnds
from gpusim.hardware.node.packet import Packet


@attr.s(auto_attribs=True, eq=False, repr=False)
class NodeLinkCounters:
    """What one link moved for one application."""

    packets: int = count("packets that were sent into it")
    bytes_in: int = count("bytes of these, headers included", "bytes")
    bytes_out: int = count("bytes of packets that came out of it", "bytes")
    wait_cycles: int = count("waiting for packets before them, summed over packets", "cycles")


declare_metrics(
    NodeLinkCounters,
    Metric(
        "node_link_gb_per_s",
        "GB/s",
        "over the links between GPUs, all together",
        GigabytesPerSecond("bytes_out"),
    ),
    Metric(
        "node_link_queueing",
        "cycles",
        "time that a packet waits for a link between GPUs",
        Ratio("wait_cycles", "packets"),
    ),
)


@frozen(eq=False, repr=False)
class NodeLinkSite:
    """Where a link stands in a node.

    Attributes:
        env: the environment.
        config: what it is like.
        clock: of the core.
        apps: applications that share the machine.
    """

    env: EventLoop
    config: NodeLinkConfig
    clock: Hertz
    apps: int


@mypyc_attr(allow_interpreted_subclasses=True)
class NodeLink(Component):
    """A packet takes its bytes by the bandwidth, then the latency; a link is never idle meanwhile.

    Time on the link is counted in parts of a cycle, so that a stream of packets has exactly the
    bandwidth.  A link moves whatever it has been given, so no two links wait for each other.

    Args:
        site: where it stands.
        index: of the link in its node.
        name: for reports.
        arrivals: where its packets come out.

    Attributes:
        on_packet: application, link, the GPUs that a packet goes from and to, its bytes, and the
            cycles in which the link begins with it and has moved it.
    """

    path = "node/link"
    laws: Sequence[Law] = laws_of(
        [NodeLinkCounters],
        Law("bytes_in", "bytes_out", "bytes sent into links", "bytes that came out of them"),
    )

    def __init__(self, site: NodeLinkSite, index: int, name: str, arrivals: LinkEnds) -> None:
        env, config = site.env, site.config
        self.env = env
        self.name = name
        self.instance = index
        self.counters = [NodeLinkCounters() for _ in range(site.apps)]
        self.bytes_per_second = config.bandwidth
        common = gcd(int(site.clock), int(config.bandwidth))
        self._parts = int(config.bandwidth) // common
        self._parts_a_byte = int(site.clock) // common
        self._latency = config.latency.cycles(site.clock)
        self._depth = config.queue
        self._free_at = 0
        """In parts of a cycle: when it has moved all that it was given."""
        self._begins = IntList()
        """Cycles in which it begins with packets that it has not begun with."""
        self._arrivals = arrivals
        self._lane = arrivals.open_lane()
        self.on_packet: Probe[[int, int, int, int, int, int, int]] = Probe()

    def full(self) -> bool:
        """Whether as many packets wait as may before GPUs stop sending requests."""
        begins, now = self._begins, self.env._now
        passed = 0
        while passed < len(begins) and begins[passed] <= now:
            passed += 1
        if passed:
            self._begins = begins = between(begins, passed, len(begins))
        return len(begins) >= self._depth

    def room_at(self) -> int:
        """When it is no longer full, if nothing else is sent; it is now."""
        return self._begins[len(self._begins) - self._depth]

    def send(self, packet: Packet) -> None:
        """Move a packet after those before it."""
        now, parts, size = self.env._now, self._parts, packet.size
        begin = now * parts
        if begin < self._free_at:
            begin = self._free_at
            first = begin // parts
            if first > now:
                self._begins.append(first)
        counters = self.counters[packet.request.app]
        counters.packets += 1
        counters.bytes_in += size
        counters.wait_cycles += begin // parts - now
        end = self._free_at = begin + size * self._parts_a_byte
        self._arrivals.send(self._lane, packet, -(-end // parts) + self._latency)
        if self.on_packet.listeners:
            app, ends = packet.request.app, (packet.source, packet.target)
            self.on_packet(app, self.instance, *ends, size, begin // parts, -(-end // parts))

    def _inside(self) -> list[Packet]:
        """Packets that have not come out."""
        return list(self._arrivals.inside(self._lane))

    def in_flight(self) -> int:
        return len(self._inside())

    def waiting(self) -> Iterator[str]:
        if inside := self.in_flight():
            yield f"{self.name}: {inside} packets on their way"

    def recordable(self) -> Iterable[tuple[str, Any]]:
        return (("links", self.on_packet),)

    def app_counters(self, app: int) -> Iterable[object]:
        counters, inside = self.counters[app], self._inside()
        moving = sum(packet.size for packet in inside if packet.request.app == app)
        counters.bytes_out = counters.bytes_in - moving
        return (counters,)
