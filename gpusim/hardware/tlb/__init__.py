"""TLB levels: one process, many arrays."""

from gpusim.hardware.tlb.array import TlbArray
from gpusim.hardware.tlb.base_delta import BaseDeltaSets
from gpusim.hardware.tlb.blocking import MISS_RULES
from gpusim.hardware.tlb.cluster import ClusterArray
from gpusim.hardware.tlb.colt import ColtArray
from gpusim.hardware.tlb.counters import TlbCounters
from gpusim.hardware.tlb.dead_pages import DeadPages
from gpusim.hardware.tlb.fill import AlwaysFill, FillPolicy
from gpusim.hardware.tlb.forward_table import ForwardTableArray, forward_table_level
from gpusim.hardware.tlb.hashed import HashedArray
from gpusim.hardware.tlb.ideal import IdealArray
from gpusim.hardware.tlb.in_memory import InMemoryTlb
from gpusim.hardware.tlb.level import TlbLevel
from gpusim.hardware.tlb.make import make_array, takes_sets
from gpusim.hardware.tlb.mask_tokens import MaskTokens
from gpusim.hardware.tlb.mshr_policy import MshrPolicy
from gpusim.hardware.tlb.neighbours import NeighbourProbes
from gpusim.hardware.tlb.prefetch_distance import DistancePrefetcher
from gpusim.hardware.tlb.prefetch_next import NextPagePrefetcher
from gpusim.hardware.tlb.prefetch_stride import StridePrefetcher
from gpusim.hardware.tlb.prefetcher import Prefetcher
from gpusim.hardware.tlb.set_associative import ArrayOfSets, SetAssociativeArray
from gpusim.hardware.tlb.sets import Entry, PlainSet, PlainSets, SetKind, TlbSet, Ways
from gpusim.hardware.tlb.star import StarArray, StarCounters
from gpusim.hardware.tlb.static_ways import StaticWaysArray
from gpusim.hardware.tlb.sub_entry import SubEntryArray
from gpusim.hardware.tlb.sub_entry_groups import GroupedSubEntryArray
from gpusim.hardware.tlb.tb_partitioned import TbPartitionedArray
from gpusim.hardware.tlb.tb_shared import TbPartitionedSharedArray
from gpusim.hardware.tlb.victims import VictimBuffer

__all__ = [
    "MISS_RULES",
    "AlwaysFill",
    "ArrayOfSets",
    "BaseDeltaSets",
    "ClusterArray",
    "ColtArray",
    "DeadPages",
    "DistancePrefetcher",
    "Entry",
    "FillPolicy",
    "ForwardTableArray",
    "GroupedSubEntryArray",
    "HashedArray",
    "IdealArray",
    "InMemoryTlb",
    "MaskTokens",
    "MshrPolicy",
    "NeighbourProbes",
    "NextPagePrefetcher",
    "PlainSet",
    "PlainSets",
    "Prefetcher",
    "SetAssociativeArray",
    "SetKind",
    "StarArray",
    "StarCounters",
    "StaticWaysArray",
    "StridePrefetcher",
    "SubEntryArray",
    "TbPartitionedArray",
    "TbPartitionedSharedArray",
    "TlbArray",
    "TlbCounters",
    "TlbLevel",
    "TlbSet",
    "Ways",
    "VictimBuffer",
    "forward_table_level",
    "make_array",
    "takes_sets",
]
