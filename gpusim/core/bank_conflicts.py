"""Passes of a warp's access through the banks of shared memory or of an L1 cache.

Data lie in 32 banks of one 4-byte word each (CUDA C++ programming guide, compute capability 5.x to
9.0, shared memory).  A pass takes one word of every bank; lanes that ask for one word share it.
Wide accesses are served by half-warps (8 bytes a lane) and quarter-warps (16 bytes), 128 bytes at
once; two neighbouring parts go together if every lane asks for what the next lane, or the next but
one, asks for (NVIDIA developer forum, shared-memory transactions of 64 and 128 bits).
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpusim.core.warp_program import INACTIVE

BANKS: Final = 32
WORD_BYTES: Final = 4

PASS_BYTES: Final = BANKS * WORD_BYTES
"""Bytes of one pass."""

Rows: TypeAlias = NDArray[np.int64]


def bank_passes(address: Rows, size: int, same_word_shared: bool = True) -> Rows:
    """Passes of accesses by the banks of their words.

    Args:
        address: (n, lanes) byte addresses, `INACTIVE` where a lane takes no part.
        size: bytes a lane, a power of two, or any number up to a word.
        same_word_shared: whether lanes that ask for one word get it in one pass; not so in atomics.

    Returns:
        (n,) passes; 0 where no lane takes part.
    """
    parts = _by_parts(address, size)
    n, count, lanes = parts.shape
    steps = np.arange(0, max(size, WORD_BYTES), WORD_BYTES)
    if count > 1 and count % 2 == 0 and size > WORD_BYTES:
        pairs = parts.reshape(n, count // 2, 2 * lanes)
        apart = ~_may_merge(pairs)
        merged = np.where(apart[..., None], INACTIVE, pairs)
        own = np.where(np.repeat(apart, 2, axis=1)[..., None], parts, INACTIVE)
        of_pairs = _passes(merged, steps, same_word_shared)
        of_own = _passes(own, steps, same_word_shared)
        passes: Rows = of_pairs.sum(axis=1) + of_own.sum(axis=1)
        return passes
    of_parts: Rows = _passes(parts, steps, same_word_shared).sum(axis=1)
    return of_parts


def least_passes(lanes: int, size: int) -> int:
    """Passes of `lanes` lanes of `size` bytes each without conflicts."""
    return max(-(-lanes * size // PASS_BYTES), 1)


def _by_parts(address: Rows, size: int) -> Rows:
    """Lanes by the parts of a warp that are served together: (n, parts, lanes of a part)."""
    n, lanes = address.shape
    own = min(PASS_BYTES // max(size, WORD_BYTES), lanes) or 1
    missing = -lanes % own
    if missing:
        address = np.pad(address, ((0, 0), (0, missing)), constant_values=INACTIVE)
    return address.reshape(n, -1, own)


def _may_merge(pairs: Rows) -> NDArray[np.bool_]:
    """Which pairs of parts go together: each lane asks for what lane ^ 1, or lane ^ 2, does."""
    lanes = np.arange(pairs.shape[-1])
    found = np.zeros(pairs.shape[:-1], dtype=bool)
    for step in (1, 2):
        other = pairs[..., lanes ^ step]
        same = (pairs == other) | (pairs == INACTIVE) | (other == INACTIVE)
        found |= same.all(axis=-1)
    return found


def _passes(parts: Rows, steps: Rows, same_word_shared: bool) -> Rows:
    """The most words that a part's lanes ask one bank for: (n, parts)."""
    n, count, lanes = parts.shape
    rows = parts.reshape(n * count, lanes)
    high = rows.max(axis=1)
    low = np.where(rows == INACTIVE, high[:, None], rows).min(axis=1)
    passes = (high != INACTIVE).astype(np.int64)
    span = (high + steps[-1]) // WORD_BYTES - low // WORD_BYTES
    hard = np.flatnonzero(span >= BANKS) if same_word_shared else np.flatnonzero(passes)
    if hard.size:
        passes[hard] = _most_words_of_a_bank(rows[hard], steps, same_word_shared)
    by_part: Rows = passes.reshape(n, count)
    return by_part


def _most_words_of_a_bank(rows: Rows, steps: Rows, same_word_shared: bool) -> Rows:
    words = (rows[:, :, None] + steps) // WORD_BYTES
    words[rows == INACTIVE] = INACTIVE
    words = words.reshape(len(rows), -1)
    if same_word_shared:
        words.sort(axis=1)
        words[:, 1:][words[:, 1:] == words[:, :-1]] = INACTIVE
    row, lane = np.nonzero(words != INACTIVE)
    bank = row * BANKS + words[row, lane] % BANKS
    asked = np.bincount(bank, minlength=len(rows) * BANKS).reshape(-1, BANKS)
    most: Rows = asked.max(axis=1)
    return most
