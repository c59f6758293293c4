"""What the driver on the host did, and what became of pages."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import Metric, PerCycle, Ratio, Total, declare_metrics


@attr.s(auto_attribs=True, eq=False, repr=False)
class PagingCounters:
    """What became of the pages of one application."""

    pages_asked: int = count("pages that came because they were asked for")
    pages_prefetched: int = count("pages that came with these")
    pages_migrated: int = count("pages that came because they were accessed over the link")
    pages_out: int = count("pages that left the device")
    pages_written_back: int = count("of these, those that were moved to the host: stored to")
    evictions: int = count("blocks whose pages left the device")
    not_served: int = count("pages asked for in a batch for which there was no room")
    faults_written: int = count("faults that came into the fault buffer", later=True)
    faults_flushed: int = count("of these, those thrown away unseen before a replay", later=True)
    faults_again: int = count(
        "of these, those of a page that another one named, or that was there", later=True
    )
    faults_remote: int = count("of these, those of a page that stays with the host", later=True)


@attr.s(auto_attribs=True, eq=False, repr=False)
class PlaceCounters:
    """Where the pages of one application are."""

    placed: int = count("pages that were on the device at first")
    resident: int = count("pages on the device now", falls=True)
    taken_away: int = count("pages that an event took from the device")


declare_metrics(
    PagingCounters,
    Metric(
        "pages_in",
        "1",
        "pages moved to the device",
        Total("pages_asked + pages_prefetched + pages_migrated"),
    ),
    Metric("pages_out", "1", "pages that left the device", Total("pages_out")),
    Metric("pages_written_back", "1", "of these, moved to the host", Total("pages_written_back")),
)


@attr.s(auto_attribs=True, eq=False, repr=False)
class DriverCounters:
    """What the driver did, for all applications together."""

    batches: int = count("batches of faults")
    faults: int = count("faults in them")
    duplicates: int = count("of these, those of a page that another one names, or that is there")
    busy_cycles: int = count("cycles in which the driver worked", "cycles")
    blocks: int = count("blocks of 2 MiB in batches, summed over batches", later=True)
    touched: int = count("of these, those that were in no batch before", later=True)
    shootdowns: int = count("shootdowns of pages that left the device", later=True)


declare_metrics(
    DriverCounters,
    Metric("fault_batches", "1", "batches of faults", Total("batches")),
    Metric("faults_per_batch", "1", "faults of a batch", Ratio("faults", "batches")),
    Metric(
        "blocks_per_batch", "1", "blocks of 2 MiB of a batch of faults", Ratio("blocks", "batches")
    ),
    Metric("driver_use", "fraction", "time that the driver works", PerCycle("busy_cycles")),
)
