"""Page-table reads on their way into the L2 cache or past it, counted level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.engine import EventLoop, NeverFull, Port, Sink, Wakeable
from gpusim.core.interfaces import Route
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics
from gpusim.core.request import MemoryRequest
from gpusim.hardware.cache.bypass import CacheBypass


@attr.s(auto_attribs=True, eq=False, repr=False)
class LevelCounters:
    """What became of the reads of one page-table level for one application, in all L2 banks."""

    l2_lookups: int = count("reads that looked for their line in the L2 cache, each counted once")
    l2_hits: int = count("reads that found it")
    l2_bypassed: int = count("reads that went past the L2 cache, straight to DRAM")


@attr.s(auto_attribs=True, eq=False, repr=False)
class StageReadCounters(LevelCounters):
    """What became of the reads of stages of translation that keep tables in memory."""

    l2_lookups: int = count("reads that looked for their line in the L2 cache", later=True)
    l2_hits: int = count("reads that found it", later=True)
    l2_bypassed: int = count("reads that went past the L2 cache, straight to DRAM", later=True)


declare_metrics(
    StageReadCounters,
    Metric(
        "l2_stages_hit_rate",
        FRACTION,
        "L2 hit rate of reads of stages of translation",
        Ratio("l2_hits", "l2_lookups"),
        later=True,
    ),
)


declare_metrics(
    LevelCounters,
    Metric(
        "l2_level{}_hit_rate",
        FRACTION,
        "L2 hit rate of reads of page-table level {}",
        Ratio("l2_hits", "l2_lookups"),
    ),
    Metric(
        "l2_bypassed",
        FRACTION,
        "page-table reads that went past the L2 cache",
        Ratio("l2_bypassed", "l2_bypassed + l2_lookups"),
    ),
)


Levels = list[list[LevelCounters]]
"""By application and level, the root first."""

Way = Callable[[MemoryRequest], Sink]
"""What a page-table read is sent to."""


def make_levels(apps: int, levels: int) -> Levels:
    """Counters for `apps` applications: of `levels` levels, and of what stages keep in memory."""
    return [[*(LevelCounters() for _ in range(levels)), StageReadCounters()] for _ in range(apps)]


@mypyc_attr(allow_interpreted_subclasses=True)
class PageTableLevel(Component):
    """A level of the page table, as far as reads of it are counted.

    Args:
        depth: 1 for the root.
        levels: where they are counted.
    """

    def __init__(self, depth: int, levels: Levels) -> None:
        self.depth = depth
        self.name = self.path = f"page_table/level{depth}"
        self._levels = levels

    @property
    def label(self) -> str:
        return str(self.depth)

    def app_counters(self, app: int) -> Iterable[object]:
        return (self._levels[app][self.depth - 1],)


@mypyc_attr(allow_interpreted_subclasses=True)
class StageTables(PageTableLevel):
    """What stages of translation keep in memory, as far as reads of it are counted."""

    def __init__(self, levels: Levels) -> None:
        super().__init__(len(levels[0]), levels)
        self.name = self.path = "page_table/stages"

    @property
    def label(self) -> str:
        return "stages"


def way_to_bank(ports: list[Port[MemoryRequest]], bank_of: Callable[[MemoryRequest], int]) -> Way:
    """To the port of the L2 bank that a read belongs to, as data of its line do."""

    def way(read: MemoryRequest) -> Sink:
        return ports[bank_of(read)]

    return way


@mypyc_attr(allow_interpreted_subclasses=True)
class AheadOfData(NeverFull):
    """Where an SM sends the page-table reads of its walks: before its data, which wait for room.

    There are no more reads than walks.

    Args:
        entrance: the SM's way into the network.
    """

    def __init__(self, entrance: Sink) -> None:
        self.name = entrance.name
        self._entrance = entrance

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Send a read."""
        self._entrance.send(item, extra_cycles)


def way_through_sms(entrances: Sequence[Sink], first: int) -> Way:
    """From the SM that asked, through the network; SMs are counted from `first`."""
    ways = [AheadOfData(entrance) for entrance in entrances]

    def way(read: MemoryRequest) -> Sink:
        return ways[read.sm - first]

    return way


def way_to_dram(channel: Route) -> Way:
    """To the DRAM channel of an address."""

    def way(read: MemoryRequest) -> Sink:
        return channel.port(read.address)

    return way


@mypyc_attr(allow_interpreted_subclasses=True)
class Farther(Sink):
    """A sink behind a way that takes some cycles and is never full itself.

    Args:
        sink: where requests come to.
        cycles: how long they take.
    """

    def __init__(self, sink: Sink, cycles: int) -> None:
        self.name = sink.name
        self._sink = sink
        self._cycles = cycles

    @property
    def full(self) -> bool:
        """Whether the sink is full."""
        return self._sink.full

    def when_free(self, sender: Wakeable) -> None:
        """Wake `sender` when the sink has room."""
        self._sink.when_free(sender)

    def send(self, item: MemoryRequest, extra_cycles: int = 0) -> None:
        """Send a request."""
        self._sink.send(item, self._cycles + extra_cycles)


def way_through(network: Callable[[MemoryRequest], int], channel: Way) -> Way:
    """Through the network first, in the cycles that it takes; beside other packets, not in line.

    Args:
        network: cycles that a read takes through it.
        channel: the way from there.
    """

    def way(read: MemoryRequest) -> Sink:
        return Farther(channel(read), network(read))

    return way


def way_with_bypass(
    env: EventLoop, bypass: CacheBypass, levels: Levels, line: int, bank: Way, channel: Way
) -> Way:
    """To the L2 bank, or straight to the DRAM channel, as a bypass policy says.

    Args:
        env: the clock that the policy is called with.
        bypass: the policy.
        levels: where to count reads that go past the cache.
        line: bytes of an L2 line.
        bank: the way into the cache.
        channel: the way past it.
    """
    shift = line.bit_length() - 1

    def way(read: MemoryRequest) -> Sink:
        if not bypass.bypasses(read.depth, read.app, read.address >> shift, env._now):
            return bank(read)
        levels[read.app][read.depth - 1].l2_bypassed += 1
        return channel(read)

    return way
