"""TLB levels: one process, many arrays."""

from gpusim.tlb.array import TlbArray
from gpusim.tlb.base_delta import BaseDeltaSets
from gpusim.tlb.cluster import ClusterArray
from gpusim.tlb.fill import AlwaysFill, FillPolicy
from gpusim.tlb.forward_table import ForwardTableArray, forward_table_level
from gpusim.tlb.ideal import IdealArray
from gpusim.tlb.level import Below, TlbCounters, TlbLevel
from gpusim.tlb.mask_tokens import MaskTokens
from gpusim.tlb.set_associative import ArrayOfSets, SetAssociativeArray
from gpusim.tlb.sets import Entry, PlainSets, SetKind, TlbSet, Ways
from gpusim.tlb.star import StarArray, StarCounters
from gpusim.tlb.static_ways import StaticWaysArray
from gpusim.tlb.sub_entry import SubEntryArray
from gpusim.tlb.sub_entry_groups import GroupedSubEntryArray
from gpusim.tlb.tb_partitioned import TbPartitionedArray
from gpusim.tlb.tb_shared import TbPartitionedSharedArray

__all__ = [
    "AlwaysFill",
    "ArrayOfSets",
    "BaseDeltaSets",
    "Below",
    "ClusterArray",
    "Entry",
    "FillPolicy",
    "ForwardTableArray",
    "GroupedSubEntryArray",
    "IdealArray",
    "MaskTokens",
    "PlainSets",
    "SetAssociativeArray",
    "SetKind",
    "StarArray",
    "StarCounters",
    "StaticWaysArray",
    "SubEntryArray",
    "TbPartitionedArray",
    "TbPartitionedSharedArray",
    "TlbArray",
    "TlbCounters",
    "TlbLevel",
    "TlbSet",
    "Ways",
    "forward_table_level",
]
