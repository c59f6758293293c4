"""Page walks: walkers, page-walk caches, the radix page table and its frames."""

from gpusim.hardware.walk.frames import (
    ContiguousFrames,
    FirstTouchFrames,
    FrameAllocator,
    ScatteredFrames,
)
from gpusim.hardware.walk.memory import Memory
from gpusim.hardware.walk.page_table import PageTable
from gpusim.hardware.walk.walk_cache import LevelWalkCache, LineWalkCache
from gpusim.hardware.walk.walker import WalkCounters, Walkers

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
