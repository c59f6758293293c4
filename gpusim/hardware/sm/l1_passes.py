"""Passes of memory instructions through an L1 cache that serves lanes.

An instruction passes the L1 cache in as many cycles as the slowest of three parts needs:

- its **data banks**: 32 of a word each, as in shared memory, of which the L1 cache is a part;
- its **tag banks**: lines of one instruction that lie in different tag banks are looked up in one
  cycle; a line's bank is its number, folded (so that the lines of any power-of-two stride spread);
- its **width**: the bytes that registers take a cycle.

With four tag banks these three give the cycles of a warp's load at all 65 strides and 7 block
widths that gpu-benches (gpu-strides) measured on an A40, and at 16 and 7 on an H200, 2 % off in
the mean and 12 % at most.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.config.schema import L1Config
from gpusim.core.bank_conflicts import WORD_BYTES, bank_passes
from gpusim.core.interleaving import folded
from gpusim.core.unboxed import IntList
from gpusim.core.warp_program import INACTIVE, LEAST_SHIFT, PASSES, LaneChunk


@frozen(eq=False, repr=False)
class L1Passes:
    """The banks of an L1 cache.

    Attributes:
        tag_banks: lines that can be looked up in a cycle, a power of two.
        width: bytes that registers take a cycle.
    """

    tag_banks: int
    width: int

    @classmethod
    def of(cls, config: L1Config) -> L1Passes | None:
        """The banks of a cache; None: transactions pass it one at a time."""
        return None if config.banks is None else cls(config.banks.tags, int(config.banks.width))

    def of_chunk(
        self, chunk: LaneChunk, counts: NDArray[np.int64], lines: IntList
    ) -> NDArray[np.int64]:
        """Passes of the memory operations of a chunk, with the least ones (`LEAST_SHIFT`).

        Args:
            chunk: the operations, m of them.
            counts: (warps, m) transactions of each.
            lines: their lines, ordered by warp, then operation.

        Returns:
            (warps, m).
        """
        active = (chunk.address != INACTIVE).sum(axis=2).T
        bytes_asked = active * np.maximum(chunk.size, WORD_BYTES)
        least = np.maximum(-(-bytes_asked // self.width), active > 0)
        most = counts.max(axis=0, initial=0)
        if most.max(initial=0) > 1:
            found = np.array(list(lines), dtype=np.int64)
            passes = np.maximum(least, self._by_tags(counts, found))
        else:
            passes = least.copy()
        several = np.flatnonzero((most > 1) | (chunk.size > WORD_BYTES))
        for size in sorted(set(chunk.size[several].tolist())):
            rows = several[chunk.size[several] == size]
            by_row = bank_passes(chunk.address[rows].reshape(-1, chunk.address.shape[2]), size)
            banks = by_row.reshape(len(rows), -1).T
            passes[:, rows] = np.maximum(passes[:, rows], banks)
        packed: NDArray[np.int64] = np.minimum(passes, PASSES) | least << LEAST_SHIFT
        return packed

    def _by_tags(self, counts: NDArray[np.int64], lines: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most lines of each operation that lie in one tag bank."""
        operation = np.repeat(np.arange(counts.size), counts.ravel())
        bank = operation * self.tag_banks + folded(lines, self.tag_banks)
        asked = np.bincount(bank, minlength=counts.size * self.tag_banks)
        most: NDArray[np.int64] = asked.reshape(*counts.shape, self.tag_banks).max(axis=2)
        return most
