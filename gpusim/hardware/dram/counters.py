"""Counters of a DRAM channel."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import (
    FRACTION,
    GigabytesPerSecond,
    Metric,
    Ratio,
    Total,
    declare_metrics,
)


@attr.s(auto_attribs=True, repr=False)
class DramCounters:
    """Counters of one application in one channel."""

    data_reads: int = count("reads answered, but for page walks")
    walk_reads: int = count("reads of page walks answered")
    writes: int = count("write-backs done")
    row_hits: int = count("requests that found their row open")
    row_misses: int = count("requests that found no row open in their bank")
    row_conflicts: int = count("requests that found another row open in their bank")
    forwarded: int = count("reads answered from a write that waited in the channel")
    data_read_bytes: int = count("bytes read, but for page walks", "B")
    walk_read_bytes: int = count("bytes read for page walks", "B")
    write_bytes: int = count("bytes written", "B")
    queue_cycles: int = count("sum over all requests from acceptance to first command", "cycle")
    data_latency_cycles: int = count(
        "sum over reads, but for page walks, from acceptance to the end of the data", "cycle"
    )
    walk_latency_cycles: int = count(
        "sum over reads of page walks from acceptance to the end of the data", "cycle"
    )

    def with_bytes(self, size: int) -> DramCounters:
        """Set the bytes of these counters, for requests of `size` bytes; returns itself."""
        self.data_read_bytes = self.data_reads * size
        self.walk_read_bytes = self.walk_reads * size
        self.write_bytes = self.writes * size
        return self


declare_metrics(
    DramCounters,
    Metric(
        "dram_reads",
        "1",
        "DRAM reads, those of page walks included",
        Total("data_reads + walk_reads"),
    ),
    Metric("dram_data_reads", "1", "DRAM reads of data", Total("data_reads")),
    Metric("dram_translation_reads", "1", "DRAM reads of the page table", Total("walk_reads")),
    Metric("dram_writes", "1", "DRAM writes", Total("writes")),
    Metric(
        "dram_row_hit_rate",
        FRACTION,
        "DRAM requests that found their row open",
        Ratio("row_hits", "row_hits + row_misses + row_conflicts"),
    ),
    Metric(
        "dram_bandwidth",
        "GB/s",
        "DRAM bandwidth used",
        GigabytesPerSecond("data_read_bytes + walk_read_bytes + write_bytes"),
    ),
    Metric(
        "dram_data_bandwidth",
        "GB/s",
        "DRAM bandwidth used, data",
        GigabytesPerSecond("data_read_bytes + write_bytes"),
    ),
    Metric(
        "dram_translation_bandwidth",
        "GB/s",
        "DRAM bandwidth used, page table",
        GigabytesPerSecond("walk_read_bytes"),
    ),
    Metric(
        "dram_latency",
        "cycles",
        "DRAM read latency",
        Ratio("data_latency_cycles + walk_latency_cycles", "data_reads + walk_reads"),
    ),
    Metric(
        "dram_data_latency",
        "cycles",
        "DRAM read latency, data",
        Ratio("data_latency_cycles", "data_reads"),
    ),
    Metric(
        "dram_translation_latency",
        "cycles",
        "DRAM read latency, page table",
        Ratio("walk_latency_cycles", "walk_reads"),
    ),
)


@attr.s(auto_attribs=True, repr=False)
class ChannelCounters:
    """Counters of a channel as a whole."""

    activations: int = count("rows opened")
    precharges: int = count("rows closed")
    refreshes: int = count("refreshes of a rank or pseudo channel")
    data_clocks: int = count("DRAM clocks in which a data bus was busy", "DRAM clock")
