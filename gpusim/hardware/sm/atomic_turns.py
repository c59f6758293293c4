"""Turns of the atomics in a piece of a thread block: lanes that change one word, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.bank_conflicts import WORD_BYTES
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import BYTES_SHIFT, INACTIVE, LaneChunk
from gpusim.hardware.sm.byte_masks import transactions_of


def add_turns(
    chunk: LaneChunk,
    is_atomic: NDArray[np.bool_],
    line_bytes: int,
    counts: NDArray[np.int64],
    found: tuple[IntList, list[int]],
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
    line_words = line_bytes // WORD_BYTES
    for operation, warp, places in transactions_of(is_atomic, counts):
        address = chunk.address[operation, warp]
        words, lanes = np.unique(address[address != INACTIVE] // WORD_BYTES, return_counts=True)
        turns: dict[int, int] = {}
        for line, number in zip((words // line_words).tolist(), lanes.tolist(), strict=True):
            turns[line] = max(turns.get(line, 0), number)
        for place in places:
            sectors[place] |= turns[lines[place]] << BYTES_SHIFT
