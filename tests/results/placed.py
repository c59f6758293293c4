"""Headline numbers of machines that are not there: classes of counters under paths."""

from __future__ import annotations

from collections.abc import Iterable

from gpusim.core.counters import CounterRow
from gpusim.core.metrics import Metric, place_metrics
from gpusim.hardware.cache.first_cache_counters import L1Counters, SideCounters
from gpusim.hardware.cache.l2_counters import L2Counters
from gpusim.hardware.cache.leading_names import InvalidationCounters
from gpusim.hardware.cache.memory_side import MemorySideCounters
from gpusim.hardware.cache.page_table_reads import LevelCounters, StageReadCounters
from gpusim.hardware.dram.counters import DramCounters
from gpusim.hardware.fbt.inputs import FbtCounters
from gpusim.hardware.fbt.purge import PurgeCounters
from gpusim.hardware.node.coalesced_groups import GroupCounters
from gpusim.hardware.node.copy_engines import CopyEngineCounters
from gpusim.hardware.node.far_faults import FarFaultCounters
from gpusim.hardware.node.held_stores import HeldStoreCounters
from gpusim.hardware.node.home_slices import HomeCounters
from gpusim.hardware.node.host_mmu import HostMmuCounters
from gpusim.hardware.node.least_tlb import SharedTlbCounters
from gpusim.hardware.node.link import NodeLinkCounters
from gpusim.hardware.node.move_counters import MoveCounters
from gpusim.hardware.node.reader_copies import CopiesCounters
from gpusim.hardware.node.traffic import PairCounters
from gpusim.hardware.paging.driver_counters import DriverCounters, PagingCounters
from gpusim.hardware.paging.host import HostCounters
from gpusim.hardware.paging.link import LinkCounters
from gpusim.hardware.paging.page_faults import FaultCounters
from gpusim.hardware.sm.counters import SmCounters
from gpusim.hardware.sm.l2_waits import L2Waits
from gpusim.hardware.sm.root_waits import RootWaits
from gpusim.hardware.sm.speculation import SpeculationCounters
from gpusim.hardware.sm.time_slicer import SliceCounters
from gpusim.hardware.sm.walk_warp import WalkWarpCounters
from gpusim.hardware.tlb.counters import TlbCounters, TlbQueueCounters
from gpusim.hardware.tlb.dead_pages import DeadPageCounters
from gpusim.hardware.tlb.in_memory import InMemoryCounters
from gpusim.hardware.tlb.long_misses import LongMissCounters
from gpusim.hardware.tlb.mask_tokens import TokenCounters
from gpusim.hardware.tlb.neighbours import ProbeCounters
from gpusim.hardware.tlb.prefetcher import PrefetchBufferCounters
from gpusim.hardware.tlb.utilisation import EvictedEntries
from gpusim.hardware.walk.counters import WalkCounters, WalkersCounters
from gpusim.machine.mapping_calls import MappingCallCounters, MappingDriverCounters

CLASSES: dict[str, tuple[type, ...]] = {
    "sm": (SmCounters, L2Waits, RootWaits),
    "tlb": (TlbCounters, TokenCounters, DeadPageCounters, TlbQueueCounters, LongMissCounters),
    "stage": (
        PrefetchBufferCounters,
        InMemoryCounters,
        ProbeCounters,
        SharedTlbCounters,
        GroupCounters,
        HomeCounters,
    ),
    "walk": (WalkCounters, WalkersCounters),
    "l1": (L1Counters, InvalidationCounters),
    "SIDE": (SideCounters,),
    "l2": (L2Counters,),
    "fbt": (FbtCounters, PurgeCounters),
    "page_table": (LevelCounters, StageReadCounters),
    "memory_side": (MemorySideCounters,),
    "dram": (DramCounters,),
    "faults": (FaultCounters,),
    "paging": (PagingCounters, DriverCounters),
    "link": (LinkCounters,),
    "host": (HostCounters,),
    "node": (
        NodeLinkCounters,
        PairCounters,
        CopiesCounters,
        CopyEngineCounters,
        FarFaultCounters,
        HostMmuCounters,
        HeldStoreCounters,
        MoveCounters,
    ),
    "mapping_calls": (MappingCallCounters, MappingDriverCounters),
    "sharing": (SliceCounters,),
    "speculation": (SpeculationCounters,),
    "walk_warp": (WalkWarpCounters,),
}
"""By the first part of the path: all classes that declare headline numbers."""


def metrics_at(*paths: str, sub_entries: int = 3) -> list[Metric]:
    """The headline numbers of components at some paths, whichever policies they have.

    Args:
        paths: such as ``"tlb/L1"``.
        sub_entries: of an entry of a TLB.
    """
    evicted = type(EvictedEntries(sub_entries).counters_of(0))
    return place_metrics(
        (path, path.rpartition("/")[2].removeprefix("level"), cls)
        for path in paths
        for room in (path.partition("/")[0],)
        for cls in (*CLASSES[room], *((evicted,) if room == "tlb" else ()))
    )


def metrics_of_rows(rows: Iterable[CounterRow]) -> list[Metric]:
    """Those of the components that have counters in some rows."""
    return metrics_at(*dict.fromkeys(row.component for row in rows))
