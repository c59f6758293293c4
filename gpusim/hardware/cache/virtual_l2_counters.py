"""What an L2 bank whose lines have virtual names counts beside other banks, and its laws."""

from __future__ import annotations

import attr

from gpusim.core.counters import count
from gpusim.core.law import Law, laws_of
from gpusim.hardware.cache.l2_counters import LOOKUPS, L2Counters, SectorCounters


@attr.s(auto_attribs=True, eq=False, repr=False)
class VirtualL2Counters:
    """What only a virtual L2 bank does, for one application."""

    replays: int = count("misses answered by a line that was fetched under its leading name")
    permission_faults: int = count("stores that the permission of their page forbids: dropped")
    invalidated: int = count("lines invalidated because their pages were, or by a CPU")
    table_fetches: int = count("page-table reads that were fetched from DRAM", later=True)


@attr.s(auto_attribs=True, eq=False, repr=False)
class ClaimCounters:
    """What only a virtual L2 bank with sectors does, for one application."""

    claimed_in_place: int = count("stores that claimed sectors of lines that were there")


def virtual_laws(*, sectored: bool) -> tuple[Law, ...]:
    """Between the counters of a bank: what it fetches, and what has come."""
    if sectored:
        counted = [L2Counters, VirtualL2Counters, SectorCounters, ClaimCounters]
        misses = "misses - merged - replays - claimed_in_place"
        other = "misses neither merged, replayed nor claimed in place"
    else:
        counted = [L2Counters, VirtualL2Counters]
        misses, other = "misses - merged - replays", "misses neither merged nor replayed"
    return laws_of(counted, LOOKUPS, Law("fills", misses, other=other))
