"""The two ways of finding the transactions of lanes give the same."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.core.version import form
from gpusim.core.warp_program import INACTIVE, LaneChunk, Op
from gpusim.hardware.sm.coalescer import Coalescing, coalesce, transactions_of

pytestmark = pytest.mark.skipif(form() != "compiled", reason="interpreted code has one way only")


def chunk_of(address: np.ndarray, stores: bool, size: int = 4) -> LaneChunk:
    """Memory operations of some bytes a lane, executed by all warps."""
    count, warps, _ = address.shape
    kind = np.full(count, Op.STORE if stores else Op.LOAD, dtype=np.uint8)
    sizes = np.full(count, size)
    return LaneChunk(
        kind, np.zeros(count, dtype=np.int64), np.ones((count, warps), bool), address, sizes
    )


@pytest.mark.parametrize("stored", [0, 1, 4, 16, 32])
@pytest.mark.parametrize("stride", [0, 1, 4, 32, 100])
@pytest.mark.parametrize("line", [32, 128])
def test_lines_and_sectors_are_those_of_whole_arrays(line: int, stride: int, stored: int) -> None:
    generator = np.random.default_rng(stride)
    lanes = np.arange(32) * stride + generator.integers(0, 9000, (6, 3, 1))
    shuffled = generator.integers(0, 4000, (6, 3, 32))
    size = stored or 4
    address = np.concatenate([lanes, shuffled]) // size * size
    address[generator.random(address.shape) < 0.3] = INACTIVE
    address[2, 1] = INACTIVE
    chunk, coalescing = chunk_of(address, stored > 0, size), Coalescing(line, covered=stored > 0)
    counts, lines, sectors = transactions_of(chunk, coalescing)
    segments = coalesce(chunk, coalescing)
    assert [segment.args for segment in segments] == counts.tolist()
    assert [one for segment in segments for one in segment.lines] == lines.tolist()
    assert [one for segment in segments for one in segment.sectors] == sectors.tolist()


def test_a_piece_without_memory_operations_has_no_transactions() -> None:
    address = np.zeros((0, 4, 0), dtype=np.int64)
    (first, *_) = coalesce(chunk_of(address, stores=False), Coalescing(128))
    assert list(first.lines) == []
    assert not first.kinds
