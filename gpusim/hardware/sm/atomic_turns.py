"""Turns of the atomics in a piece of a thread block: what a bank changes one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpusim.core.bank_conflicts import WORD_BYTES
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import BYTES_SHIFT, INACTIVE, WHOLE_TURNS, LaneChunk
from gpusim.hardware.sm.byte_masks import transactions_of


def add_turns(
    chunk: LaneChunk,
    is_atomic: NDArray[np.bool_],
    line_bytes: int,
    grain: int,
    counts: NDArray[np.int64],
    found: tuple[IntList, list[int]],
) -> None:
    """Add to each transaction of an atomic the turns in which its lanes change their words.

    In a turn words of one part of the line change, each once: a part takes as many turns as the
    word that most lanes change, and the parts take theirs one after the other.  Turns in which all
    words of a part change are told apart (`WHOLE_TURNS`).

    Args:
        chunk: the instructions.
        is_atomic: (m,) which of the memory operations are atomics.
        line_bytes: of a line of a transaction.
        grain: bytes of a part: a sector, or the line.
        counts: (warps, m) transactions of each memory operation.
        found: lines and sectors of all transactions, by warp, operation and lane; turns come above
            the sectors (`BYTES_SHIFT`).
    """
    lines, sectors = found
    part_words, line_parts = grain // WORD_BYTES, line_bytes // grain
    for operation, warp, places in transactions_of(is_atomic, counts):
        address = chunk.address[operation, warp]
        words, lanes = np.unique(address[address != INACTIVE] // WORD_BYTES, return_counts=True)
        changes: dict[int, list[int]] = {}
        for part, number in zip((words // part_words).tolist(), lanes.tolist(), strict=True):
            changes.setdefault(part, []).append(number)
        turns: dict[int, int] = {}
        for part, numbers in changes.items():
            line, whole = part // line_parts, min(numbers) if len(numbers) == part_words else 0
            turns[line] = turns.get(line, 0) + max(numbers) - whole + (whole << WHOLE_TURNS)
        for place in places:
            sectors[place] |= turns[lines[place]] << BYTES_SHIFT
