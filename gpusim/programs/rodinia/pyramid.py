"""Blocks that compute several steps of a stencil, each on a part of its cells that shrinks."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu


@frozen
class Pyramid:
    """What a launch computes along an axis.

    Attributes:
        steps: that this launch computes; of a block's cells, 2 * steps fewer are stored.
        border: steps of a full launch, cells before the grid where block 0 begins; the last
            launch may have fewer steps.
        length: cells of the grid.
    """

    steps: int
    border: int
    length: int


@frozen
class PyramidAxis:
    """One axis of a block: it loads more cells than it stores, those of its neighbours too.

    Attributes:
        lane: (threads,) cell of the block along the axis.
        position: (threads,) cell of the whole grid; may lie outside.
        below, above: (threads,) neighbours in the block; at an end of the grid, the cell itself.
        inside: (threads,) whether the cell lies in the grid.
        size: cells of the block.
    """

    lane: gpu.Lanes
    position: gpu.Lanes
    below: gpu.Lanes
    above: gpu.Lanes
    inside: gpu.Mask
    size: int

    @classmethod
    def of_block(cls, lane: gpu.Lanes, block: Any, size: int, pyramid: Pyramid) -> PyramidAxis:
        """Where the cells of a block lie.

        Args:
            lane: (threads,) cell of the block along the axis.
            block: its index; of blocks in step that of each thread.
            size: cells of the block.
            pyramid: what the launch computes.
        """
        length = pyramid.length
        first = (size - 2 * pyramid.steps) * block - pyramid.border
        position = lane + first
        below = np.maximum(lane - 1, np.maximum(0, -first))
        above = np.minimum(lane + 1, np.maximum(0, np.minimum(size, length - first) - 1))
        return cls(lane, position, below, above, (position >= 0) & (position < length), size)

    def computed(self, step: int) -> gpu.Mask:
        """(threads,) cells that step 0, 1, ... can compute."""
        return self.inside & (self.lane > step) & (self.lane < self.size - 1 - step)
