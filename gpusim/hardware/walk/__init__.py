"""Page walks: walkers, page-walk caches, the radix page table and its frames."""

from gpusim.hardware.walk.counters import WalkCounters
from gpusim.hardware.walk.cuckoo_table import ElasticCuckooTable
from gpusim.hardware.walk.fair_share import FairShare
from gpusim.hardware.walk.flattened_table import FlattenedTable
from gpusim.hardware.walk.frames import (
    ContiguousFrames,
    FirstTouchFrames,
    FrameAllocator,
    FrameRun,
    Frames,
    MosaicFrames,
    RegionFrames,
    ScatteredFrames,
)
from gpusim.hardware.walk.hashed_table import HashedTable
from gpusim.hardware.walk.memory import Memory
from gpusim.hardware.walk.mixed_frames import LargestFitFrames
from gpusim.hardware.walk.node_tables import (
    FarTable,
    GpuTable,
    MovingTable,
    NodeMemories,
    NodeTable,
    SharedTable,
)
from gpusim.hardware.walk.order import FirstComeFirstServed, WalkOrder
from gpusim.hardware.walk.page_coalescer import Coalescer
from gpusim.hardware.walk.page_table import PageTable
from gpusim.hardware.walk.range_table import RangeTable
from gpusim.hardware.walk.shortest_job import ShortestJobFirst
from gpusim.hardware.walk.table_layout import Step, TableLayout, TableSite
from gpusim.hardware.walk.walk import Walk
from gpusim.hardware.walk.walk_cache import (
    LevelWalkCache,
    LineWalkCache,
    PathWalkCache,
    SplitWalkCache,
    walk_cache_storage,
)
from gpusim.hardware.walk.walker import Walkers, WalkersSite
from gpusim.hardware.walk.warp_walkers import WarpWalkers

__all__ = [
    "Coalescer",
    "ContiguousFrames",
    "ElasticCuckooTable",
    "FairShare",
    "FarTable",
    "FirstComeFirstServed",
    "FirstTouchFrames",
    "FlattenedTable",
    "FrameAllocator",
    "FrameRun",
    "Frames",
    "GpuTable",
    "HashedTable",
    "LargestFitFrames",
    "LevelWalkCache",
    "LineWalkCache",
    "Memory",
    "MosaicFrames",
    "NodeMemories",
    "MovingTable",
    "NodeTable",
    "PageTable",
    "PathWalkCache",
    "RangeTable",
    "RegionFrames",
    "ScatteredFrames",
    "SharedTable",
    "ShortestJobFirst",
    "Step",
    "TableLayout",
    "TableSite",
    "SplitWalkCache",
    "Walk",
    "WalkCounters",
    "WalkOrder",
    "Walkers",
    "WalkersSite",
    "WarpWalkers",
    "walk_cache_storage",
]
