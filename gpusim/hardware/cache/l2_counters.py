"""Counters of an L2 bank, and the headline numbers made of them."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.law import Law
from gpusim.core.metrics import FRACTION, Metric, Ratio, declare_metrics


@attr.s(auto_attribs=True, eq=False, repr=False)
class L2Counters:
    """What one L2 bank did for one application; hits + misses = lookups."""

    lookups: int = count("requests that looked for their line, each counted once")
    hits: int = count("requests that found it")
    misses: int = count("requests that did not, merged ones included")
    merged: int = count("misses that waited for one already under way")
    fills: int = count("lines that came back from DRAM")
    writebacks: int = count("dirty lines sent to DRAM, or what was written of a line")
    stores: int = count("stores and atomics among the lookups")
    translation_lookups: int = count("page-table reads among the lookups")
    translation_hits: int = count("page-table reads that found their line")
    stalls: int = count("times that a request had to wait for an MSHR or for DRAM")
    mshrs_full: int = count("of these, because all MSHRs were taken", later=True)
    merge_list_full: int = count(
        "of these, because the MSHR of its line or sector had no room", later=True
    )
    atomic_cycles: int = count(
        "cycles in which lanes of atomics took turns at a word, and nothing else was looked up",
        "cycles",
        later=True,
    )
    store_to_load_cycles: int = count(
        "cycles in which a load waited as its line had just been stored to, and nothing else was "
        "looked up",
        "cycles",
        later=True,
    )
    way_full: int = count("of these, because the way to DRAM was full", later=True)


declare_metrics(
    L2Counters,
    Metric("l2_hit_rate", FRACTION, "L2 cache hit rate", Ratio("hits", "lookups")),
    Metric(
        "l2_translation_hit_rate",
        FRACTION,
        "L2 cache hit rate of page-table reads",
        Ratio("translation_hits", "translation_lookups"),
    ),
    Metric(
        "l2_data_hit_rate",
        FRACTION,
        "L2 cache hit rate of data",
        Ratio("hits - translation_hits", "lookups - translation_lookups"),
    ),
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class SectorCounters:
    """What only a bank with sectors counts, for one application."""

    claimed: int = count("stores that did not find all their sectors, and took them unfetched")
    sectors_fetched: int = count("32-byte sectors asked of DRAM")
    sectors_written_back: int = count("32-byte sectors sent to DRAM")


@attr.s(auto_attribs=True, eq=False, repr=False)
class PartialCounters:
    """What only a bank that fills sectors written in part counts, for one application."""

    partial_lines: int = count("lines of which DRAM was read before they were written back")
    partial_sectors: int = count("32-byte sectors that were read as stores wrote only some bytes")


LOOKUPS = Law("lookups", "hits + misses")
"""Law of every bank."""
