"""Cycles in which a warp's load passes an L1 cache with banks."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.core.warp_program import INACTIVE, LEAST_SHIFT, PASSES, LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce
from gpusim.hardware.sm.l1_passes import L1Passes

LANE = np.arange(32)


def told(address: np.ndarray, size: int = 4, width: int = 128) -> tuple[int, int]:
    """Passes of a load of one warp, and the least ones."""
    chunk = LaneChunk(
        np.array([Op.LOAD], dtype=np.uint8),
        np.zeros(1, dtype=np.int64),
        np.ones((1, 1), dtype=bool),
        address.reshape(1, 1, -1),
        np.array([size]),
    )
    (segment,) = coalesce(chunk, Coalescing(128, passes=L1Passes(4, width)))
    (passes,) = segment.passes
    return passes & PASSES, passes >> LEAST_SHIFT


@pytest.mark.parametrize(
    ("address", "size", "width", "passes", "least"),
    [
        pytest.param(4 * LANE, 4, 128, 1, 1, id="a line"),
        pytest.param(4 * LANE, 4, 64, 2, 2, id="a line, half of it a cycle"),
        pytest.param(0 * LANE, 4, 64, 2, 2, id="registers of all lanes, of one word"),
        pytest.param(8 * LANE, 4, 128, 2, 1, id="two words of each bank"),
        pytest.param(12 * LANE, 4, 128, 1, 1, id="lines 0 to 2, in three tag banks"),
        pytest.param(12 * LANE + 104 * 4, 4, 128, 2, 1, id="lines 3 to 6, 3 and 6 in one bank"),
        pytest.param(36 * LANE, 4, 128, 3, 1, id="nine lines"),
        pytest.param(128 * LANE, 4, 128, 32, 1, id="a word of one bank of every line"),
        pytest.param(132 * LANE, 4, 128, 8, 1, id="a word of every bank of 32 lines"),
        pytest.param(16 * LANE, 16, 128, 4, 4, id="16 bytes a lane"),
        pytest.param(np.where(LANE == 5, 640, INACTIVE), 4, 128, 1, 1, id="one lane"),
    ],
)
def test_passes(address: np.ndarray, size: int, width: int, passes: int, least: int) -> None:
    assert told(address, size, width) == (passes, least)


def test_a_chunk_tells_the_passes_of_each_operation_of_each_warp() -> None:
    """Of rows of two warps that one of them may not execute, and of other operations."""
    address = np.stack(
        [
            np.stack([4 * LANE, 8 * LANE]),
            np.stack([np.full(32, INACTIVE), 128 * LANE]),
        ]
    )
    chunk = LaneChunk(
        np.array([Op.LOAD, Op.COMPUTE, Op.STORE], dtype=np.uint8),
        np.array([0, 3, 0]),
        np.array([[True, True], [True, True], [False, True]]),
        address,
        np.array([4, 4]),
    )
    first, second = coalesce(chunk, Coalescing(128, passes=L1Passes(4, 128)))
    assert [passes & PASSES for passes in first.passes] == [1, 0]
    assert [passes & PASSES for passes in second.passes] == [2, 0, 32]
