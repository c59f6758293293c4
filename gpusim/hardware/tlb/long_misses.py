"""Misses of a TLB next to SMs that no TLB behind it answers."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Most, PerCycle, Ratio, declare_metrics


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
    long_miss_warps_behind: int = count(
        "warps whose own misses waited until such a page came, summed over them", later=True
    )
    most_miss_warps_stalled: int = count(
        "most warps that waited for one such page, or until it came", later=True
    )

    def add(self, cycles: int, warps: int, behind: int) -> None:
        """Count one.

        Args:
            cycles: how long it took.
            warps: warps that waited for it.
            behind: other warps, whose own misses waited until it was over.
        """
        self.long_misses += 1
        self.long_miss_cycles += cycles
        self.long_miss_warps += warps
        self.long_miss_warps_behind += behind
        self.most_miss_warps = max(self.most_miss_warps, warps)
        self.most_miss_warps_stalled = max(self.most_miss_warps_stalled, warps + behind)


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
        "tlb_{}_stalled_by_miss",
        "1",
        "warps stalled by a long {} TLB miss, mean",
        Ratio("long_miss_warps + long_miss_warps_behind", "long_misses"),
    ),
    Metric(
        "tlb_{}_stalled_by_miss_max",
        "1",
        "warps stalled by a long {} TLB miss, most",
        Most("most_miss_warps_stalled"),
    ),
    Metric(
        "tlb_{}_long_misses",
        "1",
        "long {} TLB misses under way, mean over time",
        PerCycle("long_miss_cycles"),
    ),
)
