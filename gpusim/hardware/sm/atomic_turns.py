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
    accesses = list(transactions_of(is_atomic, counts))
    if not accesses:
        return
    address = chunk.address[[one[0] for one in accesses], [one[1] for one in accesses]]
    turns = _turns_of_lines(address, line_bytes, grain)
    for (_, _, places), of_line in zip(accesses, turns, strict=True):
        for place in places:
            sectors[place] |= of_line[lines[place]] << BYTES_SHIFT


def _turns_of_lines(
    address: NDArray[np.int64], line_bytes: int, grain: int
) -> list[dict[int, int]]:
    """The turns of each line that an atomic changes, for all atomics at once.

    Args:
        address: (n, lanes) of n atomics, each of which has a lane that takes part.
        line_bytes: of a line of a transaction.
        grain: bytes of a part of it.
    """
    atomic = np.broadcast_to(np.arange(len(address))[:, None], address.shape)
    active = address != INACTIVE
    atomic, word = atomic[active], address[active] // WORD_BYTES
    order = np.lexsort((word, atomic))
    atomic, word = atomic[order], word[order]
    begins = _begins(atomic, word)
    lanes = np.diff(begins, append=len(word))
    atomic, part = atomic[begins], word[begins] // (grain // WORD_BYTES)
    begins = _begins(atomic, part)
    words = np.diff(begins, append=len(part))
    least = np.minimum.reduceat(lanes, begins)
    whole = np.where(words == grain // WORD_BYTES, least, 0)
    turns = np.maximum.reduceat(lanes, begins) - whole + (whole << WHOLE_TURNS)
    atomic, line = atomic[begins], part[begins] // (line_bytes // grain)
    begins = _begins(atomic, line)
    turns = np.add.reduceat(turns, begins)
    found: list[dict[int, int]] = [{} for _ in address]
    for of, name, number in zip(
        atomic[begins].tolist(), line[begins].tolist(), turns.tolist(), strict=True
    ):
        found[of][name] = number
    return found


def _begins(major: NDArray[np.int64], minor: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where runs of equal pairs begin."""
    new = np.ones(len(major), dtype=np.bool_)
    new[1:] = (major[1:] != major[:-1]) | (minor[1:] != minor[:-1])
    return np.flatnonzero(new)
