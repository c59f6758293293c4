"""A memory-side cache: in front of a DRAM channel, behind all L2 banks, as AMD's Infinity Cache.

Each channel has a slice, which keeps lines of that channel alone, so nothing has to be kept
coherent.  It keeps what it reads of DRAM; what is written goes to DRAM at once ("cannot hold dirty
data evicted from a lower level cache", AMD CDNA3 white paper, from memory), and what the slice has
of the line is changed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attr
from attrs import frozen
from mypy_extensions import mypyc_attr

from gpusim.config.dram import MemorySideConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, Port, Turning, TurnTaker
from gpusim.core.interfaces import Route
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.request import Kind, MemoryRequest
from gpusim.core.warp_program import SECTORS
from gpusim.files.units import Hertz
from gpusim.hardware.cache.array import CacheArray

_WRITEBACK: Final = int(Kind.WRITEBACK)


@attr.s(auto_attribs=True, eq=False, repr=False)
class MemorySideCounters:
    """What one slice did for one application; hits + misses = lookups."""

    lookups: int = count("reads of data and page tables that looked for their sectors")
    hits: int = count("reads that found all of them")
    misses: int = count("reads that went on to DRAM")
    fills: int = count("answers of DRAM that were kept")
    writes: int = count("write-backs that passed to DRAM")


declare_metrics(
    MemorySideCounters,
    Metric(
        "memory_side_hit_rate", FRACTION, "memory-side cache hit rate", Ratio("hits", "lookups")
    ),
)


@frozen(eq=False, repr=False)
class Slice:
    """What is alike for the slices of all channels of a part of memory.

    Attributes:
        config: of the cache.
        clock: of the core.
        line: bytes of a line, which lies in one channel.
        together: bytes side by side that lie in one channel, a multiple of a line.
        sectored: whether requests move sectors, not whole lines.
        channels: of the part.
        depth: requests that fit into the port.
        apps: number of applications, for counters.
    """

    config: MemorySideConfig
    clock: Hertz
    line: int
    together: int
    sectored: bool
    channels: int
    depth: int
    apps: int


@mypyc_attr(allow_interpreted_subclasses=True)
class MemorySideCache(Component, Turning):
    """The slice of one channel.

    Requests are looked up one after the other, each as long as its line takes at the slice's
    bandwidth; while the channel has no room, those that need it hold up all behind them.

    Args:
        env: the environment.
        index: of the channel.
        site: what all slices have in common.
        channel: requests of the channel.

    Attributes:
        requests: from the L2 banks, and the walkers if they read past these.
    """

    path = "memory_side"
    laws: Sequence[Law] = laws_of(
        [MemorySideCounters],
        Law("hits + misses", "lookups"),
        Law("fills", "misses", other="reads that went on to DRAM"),
    )

    def __init__(
        self, env: EventLoop, index: int, site: Slice, channel: Port[MemoryRequest]
    ) -> None:
        config = site.config
        self.env = env
        self.instance = index
        self.name = f"memory_side[{index}]"
        latency = config.latency.cycles(site.clock)
        self.requests: Port[MemoryRequest] = Port(
            env, f"{self.name}.requests", latency, depth=site.depth
        )
        self._fills: Port[MemoryRequest] = Port(env, f"{self.name}.fills")
        self._channel = channel
        self._line = site.line
        self._sectored = site.sectored
        self._near = site.together // site.line
        self._round = site.together * site.channels
        self._array = CacheArray(
            config.slice // site.line, config.ways, replacement=config.replacement
        )
        self._interval = -(-site.line // config.bytes_per_cycle)
        self._free = 0
        """Core cycle from which the next request can be looked up."""
        self._away = 0
        self._apps = [MemorySideCounters() for _ in range(site.apps)]
        self.process = TurnTaker(env, self)
        self.requests.connect(self.process)
        self._fills.connect(self.process)

    def turn(self, now: int) -> int:
        fills, requests = self._fills, self.requests
        while (came := fills.take()) is not None:
            self._fill(came)
        if now >= self._free and (request := requests.head()) is not None:
            if not self._serve(request):
                return fills.next_cycle()  # the channel wakes it when it has room
            requests.take()
            self._free = now + self._interval
        return min(max(requests.next_cycle(), self._free), fills.next_cycle())

    @property
    def capacity(self) -> int:
        """Lines that it holds at most."""
        return self._array.capacity

    def warm(self, address: int, sectors: int) -> None:
        """A read without a clock: these sectors of a line are here afterwards."""
        self._array.fill(self._name(address), sectors if self._sectored else SECTORS)

    def _serve(self, request: MemoryRequest) -> bool:
        """Answer a request or pass it on; False if the channel has no room for it."""
        counters, array = self._apps[request.app], self._array
        line, sectors = self._name(request.address), self._sectors(request)
        writes = request.kind == _WRITEBACK
        if not writes and not array.missing(line, sectors):
            counters.lookups += 1
            counters.hits += 1
            request.answer()
            return True
        channel = self._channel
        if channel.full:
            channel.when_free(self.process.wake)
            return False
        if writes:
            counters.writes += 1
        else:
            counters.lookups += 1
            counters.misses += 1
            self._away += 1
            request.return_to(self._fills)
        channel.send(request)
        return True

    def _fill(self, request: MemoryRequest) -> None:
        """Keep what DRAM has sent, and send it on."""
        self._apps[request.app].fills += 1
        self._away -= 1
        self._array.fill(self._name(request.address), self._sectors(request))
        request.answer()

    def _name(self, address: int) -> int:
        """The number of a line among those of its channel."""
        near = self._near
        return address // self._round * near + address // self._line % near

    def _sectors(self, request: MemoryRequest) -> int:
        """Mask of the sectors that a request is about."""
        return request.sectors & SECTORS if self._sectored else SECTORS

    # -- reports ---------------------------------------------------------------------------------

    def app_counters(self, app: int) -> Iterable[object]:
        return (self._apps[app],)

    def in_flight(self) -> int:
        """Requests that are not answered, or passed on."""
        return len(self.requests) + self._away

    def waiting(self) -> Iterator[str]:
        """What it waits for, for the watchdog."""
        if self.in_flight():
            yield (
                f"{self.name}: {len(self.requests)} requests wait to be looked up, {self._away} "
                "reads wait for DRAM"
            )


class MemorySide:
    """The slices of all channels, as accesses without a clock find them.

    Args:
        slices: in any order.
        route: to the slice of an address.
    """

    def __init__(self, slices: Sequence[MemorySideCache], route: Route) -> None:
        self.capacity = sum([one.capacity for one in slices])
        self._slices = {id(one.requests): one for one in slices}
        self._route = route

    def warm(self, address: int, sectors: int) -> None:
        """A read of sectors of a line that the L2 cache does not have."""
        self._slices[id(self._route.port(address))].warm(address, sectors)
