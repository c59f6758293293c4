"""What a TLB counts: its lookups, and the queue in front of it."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import (
    FRACTION,
    MeanRatio,
    Metric,
    PerKiloInstruction,
    Ratio,
    Total,
    declare_metrics,
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class PrefetchTlbCounters:
    """What one TLB did for the prefetches of one application; hits + misses = lookups."""

    lookups: int = count("lookups, each counted once however often it was retried")
    hits: int = count("lookups that found the page")
    misses: int = count("lookups that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("translations that came back from the next level")
    evictions: int = count("entries evicted by fills")
    stalls: int = count("times that a lookup had to wait for an MSHR or for the next level")


@attr.s(auto_attribs=True, eq=False, repr=False)
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


@attr.s(auto_attribs=True, eq=False, repr=False)
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
