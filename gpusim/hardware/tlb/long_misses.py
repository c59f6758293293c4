"""Misses of a TLB next to SMs that no TLB behind it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Most, PerCycle, Ratio, declare_metrics
from gpusim.core.request import MemoryRequest, Translation, Traveller
from gpusim.core.unboxed import IntDict
from gpusim.hardware.tlb.mshr_policy import requester_of

_WARP_BITS: Final = 20
"""Bits of a warp slot."""


@attr.s(auto_attribs=True, eq=False, repr=False)
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


class LongMisses:
    """Finds the long ones among the misses of one TLB next to SMs, and counts them.

    Args:
        apps: applications that share the machine.
        below: the state of a translation that waits for the stage below.
        near: states of a translation at stages on the way to the next TLB level, where a miss goes
            that is not long; empty: the stage below is that level.

    Attributes:
        counters: of each application.
    """

    def __init__(self, apps: int, below: int, near: Sequence[int]) -> None:
        self.counters = [LongMissCounters() for _ in range(apps)]
        self._below = below
        self._near = tuple(near)

    def ended(
        self,
        translation: Translation,
        waiters: Sequence[Traveller],
        held: Sequence[MemoryRequest],
        now: int,
    ) -> None:
        """A miss is over.

        Args:
            translation: which was sent on.
            waiters: lookups that it answers.
            held: requests put aside until misses under way are over.
            now: the cycle.
        """
        if not self._went_far(translation):
            return
        warps = _warps_among(waiters)
        behind = _warps_among([*waiters, *held]) - warps if held else 0
        self.counters[translation.app].add(now - translation.trail[1], warps, behind)

    def _went_far(self, translation: Translation) -> bool:
        """Whether no stage up to the next TLB level had the page."""
        if not self._near:
            return translation.trail[-2] != self._below
        return any(state not in self._near for state in list(translation.trail)[2::2])


def _warps_among(waiters: Sequence[Traveller]) -> int:
    """Warps that wait in the first level."""
    if len(waiters) == 1:
        return 1
    warps: IntDict[bool] = IntDict()
    for waiter in waiters:
        warps[waiter.sm << _WARP_BITS | requester_of(waiter).warp_slot] = True
    return len(warps)
