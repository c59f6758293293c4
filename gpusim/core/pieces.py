"""Pieces of what a thread block executes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import MEMORY_OPS, SIDE_OPS, LaneChunk

_IS_ACCESS = np.zeros(256, dtype=bool)
_IS_ACCESS[[*MEMORY_OPS, *SIDE_OPS.values()]] = True


def pieces_of(chunk: LaneChunk, rows: int) -> Iterator[LaneChunk]:
    """A chunk in pieces of at most `rows` operations."""
    memory = np.concatenate(([0], np.cumsum(_IS_ACCESS[chunk.kind])))
    for first in range(0, len(chunk.kind), rows):
        last = min(first + rows, len(chunk.kind))
        accesses = slice(int(memory[first]), int(memory[last]))
        yield LaneChunk(
            chunk.kind[first:last],
            chunk.arg[first:last],
            chunk.active[first:last],
            chunk.address[accesses],
            chunk.size[accesses],
            None if chunk.place is None else chunk.place[accesses],
        )


def part_of(chunk: LaneChunk, number: int, count: int) -> LaneChunk:
    """Part `number` of `count` equal parts of a chunk's warps: only operations that it executes."""
    warps = chunk.active.shape[1] // count
    own = slice(number * warps, (number + 1) * warps)
    active = chunk.active[:, own]
    used: NDArray[np.bool_] = np.logical_or.reduce(active, axis=1)
    accesses = used[_IS_ACCESS[chunk.kind]]
    return LaneChunk(
        chunk.kind[used],
        chunk.arg[used],
        active[used],
        chunk.address[accesses, own],
        chunk.size[accesses],
        None if chunk.place is None else chunk.place[accesses],
    )
