"""A TLB of ranges: an entry maps a run of pages of any length that lie side by side.

After Karakostas et al., *Redundant Memory Mappings for Fast Access to Large Memories* (ISCA 2015):
ranges are what the page table says when they are filled, as far as pages are mapped by then.
"""

from __future__ import annotations

from attrs import define

from gpusim.plugin import ASID_SHIFT, Mapping, Signals, Slot, TlbArray, TlbConfig, count, policy


@define(slots=True)
class RangeCounters:
    """What a TLB of ranges did."""

    ranges: int = count("ranges that were filled")
    pages_in_ranges: int = count("pages of these, summed over them")


@policy(Slot.TLB_ARRAY, "ranges")
class RangeArray(TlbArray):
    """Fully associative; the range that was used longest ago goes.

    Args:
        config: the TLB.
        reach: pages on each side of the one that was asked for that may be in its range.
    """

    large_pages = "whole"

    def __init__(self, config: TlbConfig, *, reach: int = 1 << 18) -> None:
        self._entries = config.entries
        self._reach = reach
        self._ranges: dict[int, range] = {}
        self._counters = RangeCounters()
        self._signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        self._signals = signals

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mapping = self.peek(tag, slot)
        if mapping is not None:
            found = next(one for one in self._ranges.values() if tag in one)
            self._ranges[found.start] = self._ranges.pop(found.start)
        return mapping

    def peek(self, tag: int, slot: int) -> Mapping | None:
        assert self._signals is not None
        there = any(tag in one for one in self._ranges.values())
        return self._signals.mapping(tag) if there else None

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        assert self._signals is not None
        space = tag >> ASID_SHIFT << ASID_SHIFT
        around = range(max(tag - self._reach, space), tag + self._reach)
        run = self._signals.run(tag, around)
        for first in [first for first, one in self._ranges.items() if first in run or tag in one]:
            del self._ranges[first]
        evicted = 0
        if len(self._ranges) >= self._entries:
            del self._ranges[next(iter(self._ranges))]
            evicted = 1
        self._ranges[run.start] = run
        self._counters.ranges += 1
        self._counters.pages_in_ranges += len(run)
        return evicted

    def invalidate(self, tag: int) -> bool:
        gone = [first for first, one in self._ranges.items() if tag in one]
        for first in gone:
            del self._ranges[first]
        return bool(gone)

    def flush(self) -> None:
        self._ranges.clear()

    def counters(self) -> tuple[object, ...]:
        return (self._counters,)
