"""Which physical frame a page gets.  Compression and DRAM rows depend on it (MECHANISMS §0)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.registry import Slot, policy


class FrameAllocator(ABC):
    """Hands out the frames ``0 .. frames - 1``, each once.

    Args:
        frames: number of data frames in physical memory.
        seed: of the run, for policies that draw.
    """

    eager = False
    """Whether an application's arrays are mapped before it starts, in allocation order."""

    def __init__(self, frames: int, seed: int) -> None:
        self.frames = frames
        self.seed = seed
        self.used = 0

    def allocate(self) -> int:
        """The frame of the next page.

        Raises:
            UserError: physical memory is full.
        """
        if self.used >= self.frames:
            raise UserError(
                f"physical memory is full: all {self.frames} frames are in use; "
                "raise memory.size or run a smaller program"
            )
        self.used += 1
        return self._nth(self.used - 1)

    @abstractmethod
    def _nth(self, index: int) -> int:
        """The frame handed out as number `index`."""


@policy(Slot.FRAMES, "first-touch")
class FirstTouchFrames(FrameAllocator):
    """Frames in the order in which pages are first walked."""

    def _nth(self, index: int) -> int:
        return index


@policy(Slot.FRAMES, "contiguous")
class ContiguousFrames(FirstTouchFrames):
    """Frames in the order of the arrays: neighbouring pages have neighbouring frames."""

    eager = True


@policy(Slot.FRAMES, "scattered")
class ScatteredFrames(FrameAllocator):
    """A seeded random permutation of all frames."""

    def __init__(self, frames: int, seed: int) -> None:
        super().__init__(frames, seed)
        self._order = np.random.default_rng(seed).permutation(frames)

    def _nth(self, index: int) -> int:
        return int(self._order[index])
