"""What moves of pages count, and the headline numbers that are made of it."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics


@attr.s(auto_attribs=True, eq=False, repr=False)
class MoveCounters:
    """Pages of one application that GPUs asked the host for, and that moved."""

    mapped_here: int = count("faults whose page lay with the GPU that asked, or came to lie there")
    mapped_remotely: int = count("faults whose page is used where it lies, elsewhere")
    migrations: int = count("pages that moved from one GPU to another one")
    migrated_bytes: int = count("bytes of these", "bytes")
    messages: int = count("messages to GPUs that may hold a page which moves")
    acknowledgements: int = count("acknowledgements of these")
    shootdown_cycles: int = count("from a message to the last acknowledgement, summed", "cycles")
    copy_cycles: int = count("from then on to the last byte of a copy, summed", "cycles")
    migration_cycles: int = count("from the begin of a move to its end, summed", "cycles")
    no_room: int = count("pages that did not move, as the GPU's memory was full")
    copies: int = count("copies of pages that GPUs got beside the owner", later=True)
    copied_bytes: int = count("bytes of these", "bytes", later=True)
    collapses: int = count("pages whose copies were given up, as a GPU stored to them", later=True)
    absent: int = count("faults whose page lay with no GPU, and has to come", later=True)
    departures: int = count("pages that GPUs forgot, as they moved to or from the host", later=True)


declare_metrics(
    MoveCounters,
    Metric("migrations", "1", "pages that moved between GPUs", Total("migrations")),
    Metric(
        "migration_latency",
        "cycles",
        "of a page that moves between GPUs",
        Ratio("migration_cycles", "migrations"),
    ),
    Metric("page_copies", "1", "copies of pages that GPUs got", Total("copies"), later=True),
    Metric(
        "page_collapses",
        "1",
        "pages whose copies were given up for a store",
        Total("collapses"),
        later=True,
    ),
)
