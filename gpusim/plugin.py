"""The one page that an author of a mechanism or of a program imports from.

Every slot of a machine has a base class here, with the methods that the machine calls;
``docs/extend.md`` shows each in use.  A class in a file of one's own is named in a model as
``"module:Class"``, or registered under a short name with the decorator `policy`.
"""

from gpusim.config.translation import TlbConfig
from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.errors import OptionError, UserError, at_least, one_of
from gpusim.core.law import Law, laws_of
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK, Mapping
from gpusim.core.metrics import FRACTION, Metric, PerCycle, Ratio, Total, declare_metrics
from gpusim.core.registry import Slot, make_policy, policy
from gpusim.core.replacement import Replacement, ReplacementByWay, make_replacement
from gpusim.core.request import MemoryRequest, Purpose, Requester, Translation
from gpusim.core.signals import Signals
from gpusim.core.stage import Stage, StageSite
from gpusim.core.stage_process import StageProcess
from gpusim.core.structures import Dimensions, Storage, bits_for
from gpusim.core.warp_program import Buffer, Launch
from gpusim.hardware.cache import CacheBypass
from gpusim.hardware.dram import Completion, DramQueue, FrFcfs, Waiting
from gpusim.hardware.node import Forwarding, Invalidation, PagePlacement, RemotePages
from gpusim.hardware.paging import Eviction, Fault, Migration, PagePrefetch, Resident
from gpusim.hardware.sm.block_placement import BlockPlacement, Fits, RoundRobinPlacement
from gpusim.hardware.sm.block_shares import BlockShares
from gpusim.hardware.sm.frame_guess import FrameGuess
from gpusim.hardware.sm.schedulers import Schedulable, WarpScheduler
from gpusim.hardware.sm.sharing import Slice, SmSharing
from gpusim.hardware.tlb import (
    ArrayOfSets,
    Entry,
    FillPolicy,
    MshrPolicy,
    PlainSet,
    SetAssociativeArray,
    SetKind,
    SubEntryArray,
    TlbArray,
    TlbSet,
)
from gpusim.hardware.walk import (
    FrameAllocator,
    FrameRun,
    Frames,
    Step,
    TableLayout,
    TableSite,
    Walk,
    WalkOrder,
)
from gpusim.machine.machine import Machine
from gpusim.programs.writing import (
    AddressSpace,
    BlockTracer,
    DeviceArray,
    Kernel,
    KernelFunction,
    KernelLaunch,
    Program,
    Shape,
    choice,
    kernel,
    number,
    program,
)

__all__ = [
    "ASID_SHIFT",
    "AddressSpace",
    "ArrayOfSets",
    "BlockPlacement",
    "BlockShares",
    "BlockTracer",
    "Buffer",
    "CacheBypass",
    "Completion",
    "Component",
    "DeviceArray",
    "Dimensions",
    "DramQueue",
    "Entry",
    "Eviction",
    "FRACTION",
    "Fault",
    "FillPolicy",
    "Fits",
    "Forwarding",
    "FrFcfs",
    "FrameAllocator",
    "FrameGuess",
    "FrameRun",
    "Frames",
    "Invalidation",
    "Kernel",
    "KernelFunction",
    "KernelLaunch",
    "Launch",
    "Law",
    "Machine",
    "Mapping",
    "MemoryRequest",
    "Metric",
    "Migration",
    "MshrPolicy",
    "OptionError",
    "PagePlacement",
    "PagePrefetch",
    "PerCycle",
    "PlainSet",
    "Program",
    "Purpose",
    "Ratio",
    "RemotePages",
    "Replacement",
    "ReplacementByWay",
    "Requester",
    "Resident",
    "RoundRobinPlacement",
    "Schedulable",
    "SetAssociativeArray",
    "SetKind",
    "Shape",
    "Signals",
    "Slice",
    "Slot",
    "SmSharing",
    "Stage",
    "StageProcess",
    "StageSite",
    "Step",
    "Storage",
    "SubEntryArray",
    "TableLayout",
    "TableSite",
    "TlbArray",
    "TlbConfig",
    "TlbSet",
    "Total",
    "Translation",
    "UserError",
    "VPN_MASK",
    "Waiting",
    "Walk",
    "WalkOrder",
    "WarpScheduler",
    "at_least",
    "bits_for",
    "choice",
    "count",
    "declare_metrics",
    "kernel",
    "laws_of",
    "make_policy",
    "make_replacement",
    "number",
    "one_of",
    "policy",
    "program",
]
