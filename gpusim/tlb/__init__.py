"""TLB levels: one process, many arrays."""

from gpusim.tlb.array import TlbArray
from gpusim.tlb.ideal import IdealArray
from gpusim.tlb.level import TlbCounters, TlbLevel
from gpusim.tlb.set_associative import SetAssociativeArray
from gpusim.tlb.sub_entry import SubEntryArray

__all__ = [
    "IdealArray",
    "SetAssociativeArray",
    "SubEntryArray",
    "TlbArray",
    "TlbCounters",
    "TlbLevel",
]
