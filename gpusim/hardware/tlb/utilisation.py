"""Histograms of the sub-entries that entries had used when they were evicted (STAR §IV-B)."""

from __future__ import annotations

from functools import cache

import attrs

from gpusim.core.counters import count
from gpusim.core.mapping import ASID_SHIFT
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics


class EvictedEntries:
    """Evicted entries of one TLB by their valid sub-entries, for each application.

    An entry belongs to the application of its page, or of its first base if several share it.

    Args:
        sub_entries: of an entry.
    """

    def __init__(self, sub_entries: int) -> None:
        self._sub_entries = sub_entries
        self._counts: dict[int, list[int]] = {}

    def add(self, tag: int, used: int) -> None:
        """An entry of the address space of a page has been evicted, with `used` pages."""
        asid = tag >> ASID_SHIFT
        counts = self._counts.get(asid)
        if counts is None:
            counts = self._counts[asid] = [0] * self._sub_entries
        counts[used - 1] += 1

    def counters_of(self, asid: int) -> object:
        """Counters of an address space: an attrs instance made with `counters.count`."""
        return _counters_of_size(self._sub_entries)(*self._counts.get(asid, ()))


@cache
def _counters_of_size(sub_entries: int) -> type:
    """The class of counters for entries with `sub_entries` sub-entries."""
    names = {used: f"evicted_with_{used}" for used in range(1, sub_entries + 1)}
    rows = {
        name: count(f"entries evicted with {used} of {sub_entries} pages")
        for used, name in names.items()
    }
    made = attrs.make_class("EvictedEntriesCounters", rows)
    pages = " + ".join(f"{used} * {name}" for used, name in names.items())
    places = " + ".join(f"{sub_entries} * {name}" for name in names.values())
    declare_metrics(
        made,
        Metric(
            "tlb_{}_utilisation",
            FRACTION,
            "sub-entries in use of the {} TLB entries that were evicted, mean",
            Ratio(pages, places),
        ),
    )
    return made
