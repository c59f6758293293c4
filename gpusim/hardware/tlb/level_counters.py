"""What TLBs count, and the metrics that are made of it."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import (
    FRACTION,
    MeanRatio,
    Metric,
    Most,
    PerCycle,
    PerKiloInstruction,
    Ratio,
    Total,
    declare_metrics,
)


@attr.s(auto_attribs=True)
class PrefetchTlbCounters:
    """What one TLB did for the prefetches of one application; hits + misses = lookups."""

    lookups: int = count("lookups, each counted once however often it was retried")
    hits: int = count("lookups that found the page")
    misses: int = count("lookups that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("translations that came back from the next level")
    evictions: int = count("entries evicted by fills")
    stalls: int = count("times that a lookup had to wait for an MSHR or for the next level")


@attr.s(auto_attribs=True)
class TlbCounters(PrefetchTlbCounters):
    """Demand lookups of one application in one TLB; hits + misses = lookups."""


declare_metrics(
    TlbCounters,
    Metric("tlb_{}_lookups", "1", "{} TLB lookups", Total("lookups")),
    Metric(
        "tlb_{}_hit_rate", FRACTION, "{} TLB hit rate, all TLBs together", Ratio("hits", "lookups")
    ),
    Metric(
        "tlb_{}_hit_rate_mean",
        FRACTION,
        "{} TLB hit rate, mean over the TLBs asked",
        MeanRatio("hits", "lookups"),
    ),
    Metric(
        "tlb_{}_mpki", "1", "{} TLB misses per 1000 warp instructions", PerKiloInstruction("misses")
    ),
)


@attr.s(auto_attribs=True)
class TlbQueueCounters:
    """The queue in front of one TLB, all applications together."""

    queued: int = count("translations that came through the queue")
    queue_cycles: int = count("waiting for a port or an MSHR, summed over them", "cycles")


declare_metrics(
    TlbQueueCounters,
    Metric(
        "tlb_{}_queueing",
        "cycles",
        "time that a lookup queues for the {} TLB",
        Ratio("queue_cycles", "queued"),
    ),
)


@attr.s(auto_attribs=True)
class LongMissCounters:
    """Misses of a TLB next to SMs that the next level cannot answer, of one application.

    With two levels, they are those that wait for a page walk.
    """

    long_misses: int = count("pages that the next level did not have either")
    long_miss_cycles: int = count(
        "from the first miss on such a page to its fill, summed over them", "cycles"
    )
    long_miss_warps: int = count("warps that waited for such a page, summed over them")
    most_miss_warps: int = count("most warps that waited for one such page")

    def add(self, cycles: int, warps: int) -> None:
        """Count one that took so long, and for which `warps` warps waited."""
        self.long_misses += 1
        self.long_miss_cycles += cycles
        self.long_miss_warps += warps
        self.most_miss_warps = max(self.most_miss_warps, warps)


declare_metrics(
    LongMissCounters,
    Metric(
        "tlb_{}_stalled_warps",
        "1",
        "warps that wait for a long {} TLB miss, mean",
        Ratio("long_miss_warps", "long_misses"),
    ),
    Metric(
        "tlb_{}_stalled_warps_max",
        "1",
        "warps that wait for a long {} TLB miss, most",
        Most("most_miss_warps"),
    ),
    Metric(
        "tlb_{}_long_misses",
        "1",
        "long {} TLB misses under way, mean over time",
        PerCycle("long_miss_cycles"),
    ),
)
