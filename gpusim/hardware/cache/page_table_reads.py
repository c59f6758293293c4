"""Page-table reads on their way into the L2 cache or past it, counted level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import define

from gpusim.core.counters import CounterRow, count, counter_rows
from gpusim.core.engine import Environment, Port
from gpusim.core.request import MemoryRequest
from gpusim.hardware.cache.bypass import CacheBypass


@define(slots=True)
class LevelCounters:
    """What became of the reads of one page-table level for one application, in all L2 banks."""

    l2_lookups: int = count("reads that looked for their line in the L2 cache, each counted once")
    l2_hits: int = count("reads that found it")
    l2_bypassed: int = count("reads that went past the L2 cache, straight to DRAM")


Levels = Sequence[Sequence[LevelCounters]]
"""By application and level, the root first."""

Way = Callable[[MemoryRequest], Port[MemoryRequest]]
"""The port that a page-table read is sent to."""


def make_levels(apps: int, levels: int) -> Levels:
    """Counters for so many applications and levels."""
    return [[LevelCounters() for _ in range(levels)] for _ in range(apps)]


def level_rows(levels: Levels, apps: Sequence[str]) -> Iterator[CounterRow]:
    """All of them, one row each."""
    for app, own in zip(apps, levels, strict=True):
        for depth, counters in enumerate(own, start=1):
            yield from counter_rows(f"page_table/level{depth}", 0, app, counters)


def way_with_bypass(
    env: Environment, bypass: CacheBypass, levels: Levels, line: int, bank: Way, channel: Way
) -> Way:
    """To the L2 bank, or straight to the DRAM channel, as a bypass policy says.

    Args:
        env: tells the policy the time.
        bypass: the policy.
        levels: where to count reads that go past the cache.
        line: bytes of an L2 line.
        bank: the way into the cache.
        channel: the way past it.
    """
    shift = line.bit_length() - 1

    def way(read: MemoryRequest) -> Port[MemoryRequest]:
        if not bypass.bypasses(read.depth, read.app, read.address >> shift, env._now):
            return bank(read)
        levels[read.app][read.depth - 1].l2_bypassed += 1
        return channel(read)

    return way
