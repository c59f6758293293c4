"""TLB levels: one process, many arrays."""

from gpusim.tlb.array import TlbArray
from gpusim.tlb.base_delta import BaseDeltaSets
from gpusim.tlb.cluster import ClusterArray
from gpusim.tlb.ideal import IdealArray
from gpusim.tlb.level import Below, TlbCounters, TlbLevel
from gpusim.tlb.set_associative import ArrayOfSets, SetAssociativeArray
from gpusim.tlb.sets import Entry, PlainSets, SetKind, TlbSet, Ways
from gpusim.tlb.sub_entry import SubEntryArray
from gpusim.tlb.tb_partitioned import TbPartitionedArray
from gpusim.tlb.tb_shared import TbPartitionedSharedArray

__all__ = [
    "ArrayOfSets",
    "BaseDeltaSets",
    "Below",
    "ClusterArray",
    "Entry",
    "IdealArray",
    "PlainSets",
    "SetAssociativeArray",
    "SetKind",
    "SubEntryArray",
    "TbPartitionedArray",
    "TbPartitionedSharedArray",
    "TlbArray",
    "TlbCounters",
    "TlbLevel",
    "TlbSet",
    "Ways",
]
