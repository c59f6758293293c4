"""Page walks: walkers, page-walk caches, the radix page table and its frames."""

from gpusim.walk.frames import ContiguousFrames, FirstTouchFrames, FrameAllocator, ScatteredFrames
from gpusim.walk.memory import Memory
from gpusim.walk.page_table import PageTable
from gpusim.walk.walk_cache import LevelWalkCache, LineWalkCache
from gpusim.walk.walker import WalkCounters, Walkers

__all__ = [
    "ContiguousFrames",
    "FirstTouchFrames",
    "FrameAllocator",
    "LevelWalkCache",
    "LineWalkCache",
    "Memory",
    "PageTable",
    "ScatteredFrames",
    "WalkCounters",
    "Walkers",
]
