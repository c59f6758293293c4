"""Counters of the caches next to SMs: L1 caches, and side caches."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import FRACTION, Metric, Ratio, Total, declare_metrics


@attr.s(auto_attribs=True, eq=False, repr=False)
class FirstCacheCounters:
    """What one cache next to SMs did for one application; hits + misses = lookups.

    Two hit rates are made of it.  `hits` by `lookups` are the loads that need not wait for the L2
    cache.  Profilers of GPUs also count a load as a hit whose line is under way, as it causes no
    request of its own: that is (`hits` + `merged`) by `lookups`.
    """

    lookups: int = count("loads that looked for their line, each counted once")
    hits: int = count("loads that found all their sectors")
    misses: int = count("loads that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("answers from the L2 cache that were filled in")
    stores: int = count("stores and atomics that passed through")
    stalls: int = count("times that a miss had to wait for an MSHR")
    coherent_loads: int = count(
        "loads that passed by, as they are coherent beyond their SM: no lookups", later=True
    )


@attr.s(auto_attribs=True, eq=False, repr=False)
class L1Counters(FirstCacheCounters):
    """What one L1 cache did for one application."""


declare_metrics(
    L1Counters,
    Metric("l1_hit_rate", FRACTION, "L1 cache hit rate", Ratio("hits", "lookups")),
    Metric(
        "l1_hit_rate_with_merged",
        FRACTION,
        "L1 cache hit rate, merged misses as hits",
        Ratio("hits + merged", "lookups"),
        later=True,
    ),
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class SideCounters(FirstCacheCounters):
    """What one side cache, which sees no stores, did for one application."""


declare_metrics(
    SideCounters,
    Metric("{}_lookups", "1", "{} cache lookups", Total("lookups")),
    Metric("{}_hit_rate", FRACTION, "{} cache hit rate", Ratio("hits", "lookups")),
    Metric(
        "{}_hit_rate_with_merged",
        FRACTION,
        "{} cache hit rate, merged misses as hits",
        Ratio("hits + merged", "lookups"),
        later=True,
    ),
)
