"""What walkers count: walks, and where the time of their reads went."""

from __future__ import annotations

from typing import Final

import attr

from gpusim.core.counters import count
from gpusim.core.cut import Trailed
from gpusim.core.metrics import FRACTION, Metric, PerCycle, Ratio, Total, declare_metrics
from gpusim.core.roots import Root, RootSums

_CROSSBAR: Final = int(Root.CROSSBAR)
_L2: Final = int(Root.L2)
_DRAM: Final = int(Root.DRAM)


@attr.s(auto_attribs=True, eq=False, repr=False)
class PrefetchWalkCounters:
    """What the walkers did for the prefetches of one application."""

    requests: int = count("translations asked for")
    merged: int = count("of these, merged with a walk of the same page")
    walks: int = count("walks")
    queue_cycles: int = count("waiting for a free walker, summed over walks", "cycles")
    walk_cycles: int = count("from getting a walker to the translation, summed", "cycles")
    level_accesses: int = count("page-table levels that were really read")
    cache_lookups: int = count("probes of the page-walk cache")
    cache_hits: int = count("probes that spared at least one level")
    again: int = count("walks begun anew, as a page changed when its entry was read", later=True)
    beside: int = count("of the levels read, those read beside another one", later=True)
    reads_crossbar: int = count(
        "cycles of page-table reads in the crossbar, summed", "cycles", later=True
    )
    reads_l2: int = count("cycles of page-table reads at L2 banks, summed", "cycles", later=True)
    reads_dram: int = count(
        "cycles in which page-table reads wait for DRAM, summed", "cycles", later=True
    )
    reads_other: int = count("cycles of page-table reads elsewhere, summed", "cycles", later=True)

    def add_read(self, read: Trailed, begin: int, end: int) -> None:
        """A page-table read was under way for ``[begin, end)``."""
        found = RootSums()
        read.cut(begin, end, found)
        sums = found.sums
        self.reads_crossbar += sums[_CROSSBAR]
        self.reads_l2 += sums[_L2]
        self.reads_dram += sums[_DRAM]
        self.reads_other += end - begin - sums[_CROSSBAR] - sums[_L2] - sums[_DRAM]


@attr.s(auto_attribs=True, eq=False, repr=False)
class WalkCounters(PrefetchWalkCounters):
    """What they did for its warps."""


declare_metrics(
    WalkCounters,
    Metric("walks", "1", "page walks", Total("walks")),
    Metric(
        "walk_latency",
        "cycles",
        "walk latency, from getting a walker to the end",
        Ratio("walk_cycles", "walks"),
    ),
    Metric(
        "walk_queueing",
        "cycles",
        "time that a walk queues for a walker",
        Ratio("queue_cycles", "walks"),
    ),
    Metric(
        "concurrent_walks", "1", "page walks under way, mean over time", PerCycle("walk_cycles")
    ),
    Metric(
        "walk_levels", "1", "page-table levels that a walk reads", Ratio("level_accesses", "walks")
    ),
    Metric(
        "walk_cache_hit_rate",
        FRACTION,
        "walk cache hit rate, hits / probes",
        Ratio("cache_hits", "cache_lookups"),
    ),
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class WalkersCounters:
    """The walkers as a whole, all applications together."""

    most_walks: int = count("most walks under way at once")


declare_metrics(
    WalkersCounters,
    Metric("concurrent_walks_max", "1", "most page walks under way at once", Total("most_walks")),
)
