"""Turns of the atomics in a piece of a thread block: lanes that change one word, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import BYTES_SHIFT, INACTIVE, LaneChunk

_WORD_SHIFT = 2


def add_turns(
    chunk: LaneChunk,
    is_atomic: NDArray[np.bool_],
    line_bytes: int,
    counts: NDArray[np.int64],
    found: tuple[list[int], list[int]],
) -> None:
    """Add to each transaction of an atomic the most lanes that change one word of its line.

    Args:
        chunk: the instructions.
        is_atomic: (m,) which of the memory operations are atomics.
        line_bytes: of a line of a transaction.
        counts: (warps, m) transactions of each memory operation.
        found: lines and sectors of all transactions, by warp, operation and lane; turns come above
            the sectors (`BYTES_SHIFT`).
    """
    lines, sectors = found
    shift = line_bytes.bit_length() - 1 - _WORD_SHIFT
    ends = np.cumsum(counts.ravel()).reshape(counts.shape)
    for operation in np.flatnonzero(is_atomic).tolist():
        for warp, addresses in enumerate(chunk.address[operation]):
            count = int(counts[warp, operation])
            if not count:
                continue
            words, lanes = np.unique(
                addresses[addresses != INACTIVE] >> _WORD_SHIFT, return_counts=True
            )
            turns: dict[int, int] = {}
            for line, number in zip((words >> shift).tolist(), lanes.tolist(), strict=True):
                turns[line] = max(turns.get(line, 0), number)
            end = int(ends[warp, operation])
            for place in range(end - count, end):
                sectors[place] |= turns[lines[place]] << BYTES_SHIFT
